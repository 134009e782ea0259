return model {
  sizes = { inputs = 4, kinds = 5, outputs = 1, width = 16 },
  forward = function(m)
    local x, kind = input("x", { "batch", "inputs" }), input("kind", { "batch" }, "ids")
    local y = input("y", { "batch", "outputs" })
    local h = linear("first", x, "width") + embedding("kind", kind, { "kinds", "width" })
    return mse(linear("last", relu(h), "outputs"), y)
  end,
}
-- >>> expected
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
