return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local h = linear("a", x, "inputs")
    return mse(linear("a", h, "inputs"), x)
  end,
}
-- >>> expected
-- duplicate_parameter.lua:6:16: error[duplicate-parameter]: parameter 'a.weight'
--     is made twice; to share it, make it with weight() and pass the handle
--     6 |     return mse(linear("a", h, "inputs"), x)
--       |                ^~~~~~
--     duplicate_parameter.lua:5:15: note: it is made here first
