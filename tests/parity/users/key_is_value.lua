return model {
  sizes = { layers = 2, width = 16, heads = 2, head = 8, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local q, k = linear("q", x, { "heads", "head" }), linear("k", x, { "heads", "head" })
      return x + linear("o", attention(rope(q), rope(k), k, { causal = true }), "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
