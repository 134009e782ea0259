return model {
  sizes = { inputs = 4, outputs = 2, width = 16, layers = 2 },
  axes = { width = "dp", batch = "tp", ffn = "cp" },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    return mse(linear("last", linear("first", x, "width"), "outputs"), y)
  end,
}
-- >>> expected
-- axes_dp.lua:3:26: error[not-a-model]: axes.batch: expected "dp", or nothing:
--     samples are divided by dp alone
--     3 |   axes = { width = "dp", batch = "tp", ffn = "cp" },
--       |                          ^~~~~
-- axes_dp.lua:3:40: error[not-a-model]: axes.ffn: expected a dimension: one of the
--     sizes, batch or seq
--     3 |   axes = { width = "dp", batch = "tp", ffn = "cp" },
--       |                                        ^~~
