return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local loss = 3e38 * mse(linear("a", x, "inputs"), x)
    return loss + loss
  end,
}
-- >>> expected
-- loss_weight_large.lua:6:17: error[wrong-number]: add: the weight of a loss is
--     finite in fp32; got 6e+38
--     6 |     return loss + loss
--       |                 ^
