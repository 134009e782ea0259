return model {
  sizes = { inputs = 4, outputs = 1, width = 16 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    local h = linear("first", x, "width")
    h = 0.5 * h * (1 + tanh(math.sqrt(2 / 3.141592653589793) * (h + 0.044715 * h * h * h)))
    return mse(linear("last", h, "outputs"), y)
  end,
}
-- >>> expected
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
