return model {
  sizes = { layers = 2, width = 12, heads = 4, head = 4, vocab = 12 },
  forward = function(m)
    local tokens, targets = input("tokens", { "batch", "seq" }, "ids"), input("targets", { "batch", "seq" }, "ids")
    local x = embedding("e", tokens, { "vocab", "width" })
    x = stack("l", m.layers, x, function(x)
      local q, k, v = linear("q", x, { "heads", "head" }), linear("k", x, { "heads", "head" }), linear("v", x, { "heads", "head" })
      local a = attention(q, k, v, { causal = true })
      return x + linear("o", attention(q, k, attention(a, q, a, { causal = true }), { causal = true }), "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
