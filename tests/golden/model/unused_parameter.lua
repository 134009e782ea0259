return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local a = linear("a", x, "inputs", { bias = true })
    local w = weight("w", { "inputs" })
    local h = stack("s", 2, linear("b", x, "inputs"), function(x) return linear("c", x, "inputs") end)
    return mse(linear("d", x, "inputs"), x)
  end,
}
-- >>> expected
-- unused_parameter.lua:5:15: error[unused-parameter]: parameter 'a.weight' never
--     reaches the loss: it would stay as it began
--     5 |     local a = linear("a", x, "inputs", { bias = true })
--       |               ^~~~~~
-- unused_parameter.lua:6:15: error[unused-parameter]: parameter 'w' never reaches
--     the loss: it would stay as it began
--     6 |     local w = weight("w", { "inputs" })
--       |               ^~~~~~
-- unused_parameter.lua:7:29: error[unused-parameter]: parameter 'b.weight' never
--     reaches the loss: it would stay as it began
--     7 |     local h = stack("s", 2, linear("b", x, "inputs"), function(x) return linear("c", x, "i
--       |                             ^~~~~~
