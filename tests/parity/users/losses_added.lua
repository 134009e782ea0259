return model {
  sizes = { inputs = 4, outputs = 1 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    return mse(linear("a", x, "outputs"), y) + mse(linear("b", x, "outputs"), y)
  end,
}
-- >>> expected
-- losses_added.lua:5:12: error[two-losses]: mse: a model has one loss, and this is
--     the second: sums of losses are not built yet
--     5 |     return mse(linear("a", x, "outputs"), y) + mse(linear("b", x, "outputs"), y)
--       |            ^~~
--     losses_added.lua:5:12: note: the first is here
-- losses_added.lua:5:46: error[loss-used]: add: the loss is what forward returns;
--     nothing is computed from it
--     5 |     return mse(linear("a", x, "outputs"), y) + mse(linear("b", x, "outputs"), y)
--       |                                              ^
