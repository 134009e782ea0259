return model {
  sizes = { inputs = 4, outputs = 1, width = 8 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    local h = linear("first", x, "width")
    return mse(linear("last", h / h + 1 / h, "outputs"), y)
  end,
}
-- >>> expected
-- divide_values.lua:6:33: error[no-operator]: divide: a value can be divided by a
--     number; got the value [batch, width]
--     6 |     return mse(linear("last", h / h + 1 / h, "outputs"), y)
--       |                                 ^
