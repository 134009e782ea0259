return model {
  sizes = { inputs = 3, width = 4 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    return mse(linear("a", x, "width"), tanh(linear("b", x, "width")))
  end,
}
-- >>> expected
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
