-- Numbers that fp32 does not have: kernels would read infinity, or 0.
return model {
  sizes = { heads = 2, head = 4, inputs = 8, width = 8, tiny = 1e-50 },
  forward = function(m)
    local x, t = input("x", { "batch", "inputs" }), input("t", { "batch", "seq", "heads", "head" })
    local a = linear("a", x, "width", { init = { "normal", std = 1e39 } })
    local b = linear("b", x, "width", { init = { "constant", value = -math.huge } })
    local c = x * 1e300 + 1
    local d = x / 1e-40
    local e = rmsnorm("e", x, { eps = m.tiny })
    local f = layernorm("f", x, { eps = 1e60 })
    local g = attention(t, t, t, { scale = 0 })
    local h = attention(t, t, t, { scale = 0/0 })
    return mse(a + b + c + d + e + f, x)
  end,
}
-- >>> expected
-- beyond_f32.lua:6:15: error[wrong-option]: linear: init: std is a number, -3.4e38
--     to 3.4e38; got a table
--     6 |     local a = linear("a", x, "width", { init = { "normal", std = 1e39 } })
--       |               ^~~~~~
-- beyond_f32.lua:7:15: error[wrong-option]: linear: init: value is a number,
--     -3.4e38 to 3.4e38; got a table
--     7 |     local b = linear("b", x, "width", { init = { "constant", value = -math.huge } })
--       |               ^~~~~~
-- beyond_f32.lua:8:17: error[wrong-number]: multiply: a factor of 1e+300 is beyond
--     fp32, which ends at 3.4e38
--     8 |     local c = x * 1e300 + 1
--       |                 ^
-- beyond_f32.lua:9:17: error[wrong-number]: divide: a factor of 1e+40 is beyond
--     fp32, which ends at 3.4e38
--     9 |     local d = x / 1e-40
--       |                 ^
-- beyond_f32.lua:10:15: error[wrong-option]: rmsnorm: eps is above 0, and 1.2e-38
--     or more: fp32 knows no less; got 1e-50
--    10 |     local e = rmsnorm("e", x, { eps = m.tiny })
--       |               ^~~~~~~
-- beyond_f32.lua:11:15: error[wrong-option]: layernorm: eps is a number, -3.4e38
--     to 3.4e38; got the number 1e+60
--    11 |     local f = layernorm("f", x, { eps = 1e60 })
--       |               ^~~~~~~~~
-- beyond_f32.lua:12:15: error[wrong-option]: attention: scale is not 0, by which
--     no key differs from another; without it, it is 1/sqrt(head)
--    12 |     local g = attention(t, t, t, { scale = 0 })
--       |               ^~~~~~~~~
-- beyond_f32.lua:13:15: error[wrong-option]: attention: scale is a number; got not
--     a number (0/0)
--    13 |     local h = attention(t, t, t, { scale = 0/0 })
--       |               ^~~~~~~~~
