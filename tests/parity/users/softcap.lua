return model {
  sizes = { layers = 2, width = 16, ffn = 32, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" }) * math.sqrt(m.width)
    x = stack("h", m.layers, x, function(x) return x + linear("down", gelu(linear("up", x, "ffn")), "width") end)
    return cross_entropy(30 * tanh(linear("head", x, "vocab") / 30), targets)
  end,
}
-- >>> expected
