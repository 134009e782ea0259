return model {
  sizes = { columns = 3, kinds = 5, width = 16, classes = 4 },
  bias = true, init = "kaiming_uniform",
  forward = function(m)
    local kinds, y = input("kinds", { "batch", "columns" }, "ids"), input("y", { "batch" }, "ids")
    return cross_entropy(linear("last", relu(embedding("e", kinds, { "kinds", "width" })), "classes"), y)
  end,
}
-- >>> expected
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
