return model {
  sizes = { layers = 2, width = 16, ffn = 32, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local w = weight("w", { "vocab", "width" })
    local x = embedding(w, tokens) + 0.1 * linear("z", embedding(w, tokens), "width")
    x = stack("h", m.layers, x, function(x) return x + linear("down", gelu(linear("up", x, "ffn")), "width") end)
    return cross_entropy(linear(w, x), targets)
  end,
}
-- >>> expected
