return model {
  sizes = { inputs = 4, classes = 3, width = 16 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch" })
    return cross_entropy(linear("last", relu(linear("first", x, "width")), "classes"), y)
  end,
}
-- >>> expected
-- classifier_without_ids.lua:5:12: error[needs-ids]: cross_entropy: argument 2 is
--     ids, from input(name, dims, "ids"); got the value [batch]
--     5 |     return cross_entropy(linear("last", relu(linear("first", x, "width")), "classes"), y)
--       |            ^~~~~~~~~~~~~
