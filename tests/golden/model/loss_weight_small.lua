-- fp32 would have 0 for it, and the loss would train nothing.
return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local a, b, t = linear("a", x, "inputs"), linear("b", x, "inputs"), input("t", { "batch" }, "ids")
    local c = cross_entropy(a, t, { z = 1e-46 })
    local d = x * 1e-40
    return mse(a, x) + 1e-46 * mse(b, x, { name = "b" }) + c
  end,
}
-- >>> expected
-- loss_weight_small.lua:7:15: error[wrong-option]: cross_entropy: z is 0, or at
--     least 1.2e-38, as fp32 has; got 1e-46
--     7 |     local c = cross_entropy(a, t, { z = 1e-46 })
--       |               ^~~~~~~~~~~~~
-- loss_weight_small.lua:8:17: error[wrong-number]: multiply: a factor of 1e-40 is
--     beyond fp32, which begins at 1.2e-38
--     8 |     local d = x * 1e-40
--       |                 ^
-- loss_weight_small.lua:9:30: error[wrong-number]: multiply: the weight of a loss
--     is 0, or at least 1.2e-38 in size, as fp32 has; got 1e-46
--     9 |     return mse(a, x) + 1e-46 * mse(b, x, { name = "b" }) + c
--       |                              ^
