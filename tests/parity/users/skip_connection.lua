return model {
  sizes = { inputs = 8, layers = 2, width = 8 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "inputs" })
    local e = linear("first", x, "width")
    local h = stack("h", m.layers, e, function(x) return x + relu(linear("a", x, "width")) end)
    return mse(linear("z", h + e, "inputs"), y)
  end,
}
-- >>> expected
-- skip_connection.lua:7:30: error[skips-stack]: add: [batch, width] was made
--     before a stack and is used after it; only the carried value crosses, inputs
--     and positions too
--     7 |     return mse(linear("z", h + e, "inputs"), y)
--       |                              ^
--     skip_connection.lua:5:15: note: [batch, width] is made here
