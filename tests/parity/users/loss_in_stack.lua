return model {
  sizes = { inputs = 8, layers = 2 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "inputs" })
    return stack("h", m.layers, x, function(x) return mse(linear("a", x, "inputs"), y) end)
  end,
}
-- >>> expected
-- loss_in_stack.lua:5:55: error[block-shape]: mse: the loss comes after the
--     stacks, not inside one
--     5 |     return stack("h", m.layers, x, function(x) return mse(linear("a", x, "inputs"), y) end
--       |                                                       ^~~
