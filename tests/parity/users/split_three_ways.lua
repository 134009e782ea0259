return model {
  sizes = { layers = 2, width = 16, parts = 3, heads = 4, head = 4, ffn = 32, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local a, b, c = split(linear("p", rmsnorm("n", x), { "parts", "heads", "head" }), "parts")
      local s = attention(rope(a), rope(b), c, { causal = true })
      return x + linear("o", s, "width") + linear("z", rmsnorm("cn", c), "width") * 0.5
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
