return model {
  sizes = { inputs = 4, outputs = 1, width = 8 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    return mse(linear("last", linear("first", x, "width") ^ 2, "outputs"), y)
  end,
}
-- >>> expected
-- power.lua:5:59: error[no-operator]: values have + - * and / by a number, and no
--     '^'
--     5 |     return mse(linear("last", linear("first", x, "width") ^ 2, "outputs"), y)
--       |                                                           ^
