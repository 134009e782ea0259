return model {
  sizes = { inputs = 4, outputs = 1 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    return mse(linear("a", x, "outputs"), y) / m.outputs
  end,
}
-- >>> expected
-- loss_scaled.lua:5:46: error[loss-used]: divide: the loss is what forward
--     returns; nothing is computed from it
--     5 |     return mse(linear("a", x, "outputs"), y) / m.outputs
--       |                                              ^
