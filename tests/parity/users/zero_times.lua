return model {
  sizes = { inputs = 3, width = 4, outputs = 1 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    local h = linear("a", x, "width")
    return mse(linear("last", h * 0 + 1, "outputs"), y)
  end,
}
-- >>> expected
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
