return model {
  sizes = { a = 3, b = 5, outputs = 2, width = 16 },
  bias = true,
  forward = function(m)
    local a, b = input("a", { "batch", "a" }), input("b", { "batch", "b" })
    local y = input("y", { "batch", "outputs" })
    return mse(linear("last", relu(linear("fa", a, "width") + linear("fb", b, "width")), "outputs"), y)
  end,
}
-- >>> expected
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
