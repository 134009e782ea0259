return model {
  sizes = { inputs = 8, layers = 2 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "inputs" })
    local h = stack("h", m.layers, linear("f", x, "inputs"), function(x) return relu(x) end)
    return mse(linear("z", h, "inputs"), y)
  end,
}
-- >>> expected
