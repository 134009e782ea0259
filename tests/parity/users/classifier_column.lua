return model {
  sizes = { inputs = 4, classes = 3, one = 1, width = 16 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "one" }, "ids")
    return cross_entropy(linear("last", relu(linear("first", x, "width")), "classes"), y)
  end,
}
-- >>> expected
-- classifier_column.lua:5:12: error[loss-shape]: cross_entropy: logits run over
--     [batch], targets over [batch, one]
--     5 |     return cross_entropy(linear("last", relu(linear("first", x, "width")), "classes"), y)
--       |            ^~~~~~~~~~~~~
