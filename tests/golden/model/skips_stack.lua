return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local h = linear("a", x, "inputs")
    local y = stack("blocks", 2, h, function(x) return linear("b", x, "inputs") end)
    return mse(y + h, x)
  end,
}
-- >>> expected
-- skips_stack.lua:7:18: error[skips-stack]: add: [batch, inputs] was made before a
--     stack and is used after it; only the carried value crosses, inputs and
--     positions too
--     7 |     return mse(y + h, x)
--       |                  ^
--     skips_stack.lua:5:15: note: [batch, inputs] is made here
