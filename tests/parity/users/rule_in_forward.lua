return model {
  sizes = { inputs = 4, outputs = 1, width = 15 },
  forward = function(m)
    assert(m.width % 2 == 0, "width must be even")
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    return mse(linear("last", linear("first", x, "width"), "outputs"), y)
  end,
}
-- >>> expected
-- rule_in_forward.lua:4:5: error[lua-error]: width must be even
--     4 |     assert(m.width % 2 == 0, "width must be even")
--       |     ^~~~~~
