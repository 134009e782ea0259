return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local h = linear("a", x, "inputs")
    return mse(h, x) + mse(relu(h), x)
  end,
}
-- >>> expected
-- two_losses.lua:6:12: error[two-losses]: mse: a model has one loss, and this is
--     the second: sums of losses are not built yet
--     6 |     return mse(h, x) + mse(relu(h), x)
--       |            ^~~
--     two_losses.lua:6:12: note: the first is here
-- two_losses.lua:6:22: error[loss-used]: add: the loss is what forward returns;
--     nothing is computed from it
--     6 |     return mse(h, x) + mse(relu(h), x)
--       |                      ^
