return model {
  sizes = { width = 16, vocab = 64, outputs = 2 },
  forward = function(m)
    local x = input("x", { "batch", "seq", "outputs" })
    local y = input("y", { "batch", "seq", "outputs" })
    return mse(linear("last", relu(linear("first", x, "width")), "outputs"), y)
  end,
}
-- >>> expected
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
