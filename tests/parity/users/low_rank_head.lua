return model {
  sizes = { layers = 2, width = 16, inner = 8, ffn = 32, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = linear("wide", embedding("e", tokens, { "vocab", "inner" }), "width")
    x = stack("h", m.layers, x, function(x) return x + linear("down", gelu(linear("up", x, "ffn")), "width") end)
    return cross_entropy(linear("head", linear("narrow", x, "inner"), "vocab"), targets)
  end,
}
-- >>> expected
