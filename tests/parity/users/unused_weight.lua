return model {
  sizes = { inputs = 4, outputs = 1, width = 16 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    local w = weight("w", { "width", "inputs" })
    return mse(linear("last", x, "outputs"), y)
  end,
}
-- >>> expected
-- unused_weight.lua:5:15: error[unused-parameter]: parameter 'w' never reaches the
--     loss: it would stay as it began
--     5 |     local w = weight("w", { "width", "inputs" })
--       |               ^~~~~~
