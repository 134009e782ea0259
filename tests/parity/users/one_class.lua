return model {
  sizes = { inputs = 1, classes = 1 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch" }, "ids")
    return cross_entropy(linear("last", x, "classes"), y)
  end,
}
-- >>> expected
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
