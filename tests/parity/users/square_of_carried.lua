return model {
  sizes = { inputs = 4, outputs = 1, width = 16, layers = 3 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    local h = linear("first", x, "width")
    h = stack("blocks", m.layers, h, function(h) return linear("w", h * h, "width") + h end)
    return mse(linear("last", h, "outputs"), y)
  end,
}
-- >>> expected
