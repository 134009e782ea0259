return model {
  sizes = { inputs = 4, outputs = 1, width = 15, groups = 4, group = function(m)
    assert(m.width % m.groups == 0, "groups must divide width")
    return m.width // m.groups
  end },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    return mse(linear("last", linear("first", x, { "groups", "group" }), "outputs"), y)
  end,
}
-- >>> expected
-- size_rule.lua:3:5: error[lua-error]: groups must divide width
--     3 |     assert(m.width % m.groups == 0, "groups must divide width")
--       |     ^~~~~~
