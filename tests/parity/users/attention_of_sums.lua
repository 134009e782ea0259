-- Queries that are a difference, keys that are queries, values times themselves.
return model {
  sizes = { layers = 2, width = 16, heads = 4, head = 4, vocab = 32 },

  forward = function(m)
    local x = embedding("wte", input("tokens", { "batch", "seq" }, "ids"), { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local q = linear("q", x, { "heads", "head" }) - 0.1 * linear("p", x, { "heads", "head" })
      local v = linear("v", x, { "heads", "head" })
      return x + linear("o", attention(q, rope(q), v * v, { causal = true }) * v, "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), input("targets", { "batch", "seq" }, "ids"))
  end,
}
-- >>> expected
