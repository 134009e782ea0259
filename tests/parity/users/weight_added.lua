return model {
  sizes = { inputs = 4, outputs = 1, width = 16 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    local s = weight("scale", "inputs")
    return mse(linear("last", x * s, "outputs"), y)
  end,
}
-- >>> expected
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
