return model {
  sizes = { inputs = 4, outputs = 1, width = 2.5 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    return mse(linear("last", linear("first", x, "width"), "outputs"), y)
  end,
}
-- >>> expected
-- sizes_bad.lua:5:16: error[wrong-size]: linear: a dimension has a whole size of 1
--     or more; width = 2.5
--     5 |     return mse(linear("last", linear("first", x, "width"), "outputs"), y)
--       |                ^~~~~~
