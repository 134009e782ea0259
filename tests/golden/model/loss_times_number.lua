return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    return 0.5 * mse(linear("a", x, "inputs"), x)
  end,
}
-- >>> expected
-- loss_times_number.lua:5:16: error[loss-used]: multiply: the loss is what forward
--     returns; nothing is computed from it
--     5 |     return 0.5 * mse(linear("a", x, "inputs"), x)
--       |                ^
