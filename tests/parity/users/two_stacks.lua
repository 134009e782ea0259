return model {
  sizes = { layers = 2, width = 16, ffn = 32, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    local function block(x) return x + linear("down", gelu(linear("up", x, "ffn")), "width") end
    x = stack("a", m.layers, x, block)
    x = stack("b", m.layers + 1, x, block)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
