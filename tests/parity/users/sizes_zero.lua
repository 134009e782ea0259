return model {
  sizes = { inputs = 4, outputs = 1, width = 0 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    return mse(linear("last", linear("first", x, "width"), "outputs"), y)
  end,
}
-- >>> expected
-- sizes_zero.lua:5:16: error[wrong-size]: linear: a dimension has a whole size of
--     1 or more; width = 0
--     5 |     return mse(linear("last", linear("first", x, "width"), "outputs"), y)
--       |                ^~~~~~
