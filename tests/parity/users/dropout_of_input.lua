return model {
  sizes = { inputs = 3, width = 16, outputs = 2 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    return mse(linear("last", relu(linear("first", dropout(x, 0.5), "width")), "outputs"), dropout(y, 0))
  end,
}
-- >>> expected
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
