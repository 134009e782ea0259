return model {
  sizes = { inputs = 4, outputs = 2, width = 16, ffn = 32, layers = 2 },
  axes = { width = "tp", inputs = "tp", outputs = "tp" },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    local h = linear("first", x, "width")
    h = stack("h", m.layers, h, function(h) return h + linear("down", relu(linear("up", layernorm("n", h), "ffn")), "width") end)
    return mse(linear("last", h, "outputs"), y)
  end,
}
-- >>> expected
