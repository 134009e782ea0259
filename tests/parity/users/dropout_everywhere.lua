return model {
  sizes = { layers = 2, width = 16, heads = 4, head = 4, ffn = 32, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = dropout(embedding("wte", tokens, { "vocab", "width" }), 0.1)
    x = stack("h", m.layers, x, function(x)
      local q = dropout(linear("q", x, { "heads", "head" }), 0.1)
      local k = dropout(linear("k", x, { "heads", "head" }), 0.1)
      local v = dropout(linear("v", x, { "heads", "head" }), 0.1)
      x = x + dropout(linear("o", dropout(attention(q, k, v, { causal = true, dropout = 0.1 }), 0.2), "width"), 0.1)
      return dropout(x + dropout(linear("down", dropout(gelu(linear("up", dropout(x, 0.1), "ffn")), 0.1), "width"), 0.1), 0.1)
    end)
    return cross_entropy(dropout(linear("head", dropout(x, 0.1), "vocab"), 0.1), targets)
  end,
}
-- >>> expected
