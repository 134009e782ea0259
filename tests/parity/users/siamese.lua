return model {
  sizes = { inputs = 8, width = 4 },
  forward = function(m)
    local a, b = input("a", { "batch", "inputs" }), input("b", { "batch", "inputs" })
    local w = weight("w", { "width", "inputs" })
    return mse(tanh(linear(w, a)), tanh(linear(w, b)))
  end,
}
-- >>> expected
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
