return model {
  sizes = { inputs = 8, layers = 2, width = 8 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "inputs" })
    local h = linear("first", x, "width")
    h = stack("h", m.layers, h, function(h) return h + relu(linear("a", h, "width")) + linear("c", x, "width") end)
    return mse(linear("z", h, "inputs"), y)
  end,
}
-- >>> expected
