return model {
  sizes = { inputs = 4, classes = 3, width = 16 },
  bias = true,
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch" }, "ids")
    return cross_entropy(linear("last", relu(linear("first", x, "width")), "classes"), y)
  end,
}
-- >>> expected
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
