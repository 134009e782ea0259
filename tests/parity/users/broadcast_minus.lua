return model {
  sizes = { inputs = 4, outputs = 1, width = 8, heads = 2 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    local h = linear("gate", x, "heads") - linear("first", x, { "heads", "width" })
    return mse(linear("last", h, "outputs"), y)
  end,
}
-- >>> expected
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
