-- Only queries are turned, twice, with another base each time.
return model {
  sizes = { layers = 2, width = 16, heads = 4, kv_heads = 2, head = 4, vocab = 32 },

  forward = function(m)
    local x = embedding("wte", input("tokens", { "batch", "seq" }, "ids"), { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local q = rope(rope(linear("q", x, { "heads", "head" })), { base = 500 })
      local k, v = linear("k", x, { "kv_heads", "head" }), linear("v", x, { "kv_heads", "head" })
      return x * 0.5 + linear("o", attention(q, k, v, { causal = true }), "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), input("targets", { "batch", "seq" }, "ids"))
  end,
}
-- >>> expected
