return model {
  sizes = { layers = 2, width = 16, heads = 4, kv_heads = 2, head = 4, ffn = 32, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local h = rmsnorm("n", x)
      local q, k = linear("q", h, { "heads", "head" }), linear("k", h, { "kv_heads", "head" })
      local v = linear("v", h, { "kv_heads", "head" })
      return x + linear("o", attention(rmsnorm("qn", rope(q)), rmsnorm("kn", rope(k)), v, { causal = true }), "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
