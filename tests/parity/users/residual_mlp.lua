return model {
  sizes = { inputs = 4, outputs = 1, width = 16, ffn = 32, layers = 2 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    local h = relu(linear("first", x, "width"))
    h = stack("blocks", m.layers, h, function(h)
      return h + linear("down", relu(linear("up", layernorm("ln", h), "ffn")), "width")
    end)
    return mse(linear("last", h, "outputs"), y)
  end,
}
-- >>> expected
