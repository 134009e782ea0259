return model {
  sizes = { inputs = 4, outputs = 1, act = "gelu", width = 8 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    local act = m.act == "gelu" and gelu or relu
    return mse(linear("last", act(linear("first", x, "width")), "outputs"), y)
  end,
}
-- >>> expected
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
