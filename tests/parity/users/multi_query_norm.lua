return model {
  sizes = { layers = 2, width = 16, heads = 4, kv_heads = 1, head = 4, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local q, k = linear("q", x, { "heads", "head" }), linear("k", x, { "kv_heads", "head" })
      local v = linear("v", x, { "kv_heads", "head" })
      return x + linear("o", attention(rope(q), rope(rmsnorm("kn", k)), v, { causal = true }), "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
