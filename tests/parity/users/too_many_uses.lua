-- One weight more often than gradients of it are counted.
return model {
  sizes = { inputs = 4, width = 8, hidden = 8 },

  forward = function()
    local x = linear("first", input("x", { "batch", "inputs" }), "width")
    local y = input("y", { "batch", "inputs" })
    local turn = weight("turn", { "hidden", "width" })
    for _ = 1, 65 do x = tanh(linear(turn, x)) end
    return mse(linear("last", x, "inputs"), y)
  end,
}
-- >>> expected
-- too_many_uses.lua:8:18: error[too-many-uses]: parameter 'turn' is used 65 times,
--     which is more than 64: give some uses a weight of their own
--     8 |     local turn = weight("turn", { "hidden", "width" })
--       |                  ^~~~~~
