-- Two attentions with as many heads of queries, and other numbers of heads of keys.
return model {
  sizes = { layers = 2, width = 16, heads = 4, kv_heads = 2, one = 1, head = 4, vocab = 32 },
  axes = { one = "tp" },
  forward = function(m)
    local tokens, targets = input("tokens", { "batch", "seq" }, "ids"), input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local q = rope(linear("q", x, { "heads", "head" }))
      local a = attention(q, linear("k", x, { "kv_heads", "head" }), linear("v", x, { "kv_heads", "head" }), { causal = true })
      local b = attention(q, linear("k1", x, { "one", "head" }), linear("v1", x, { "one", "head" }), { causal = true })
      return x + linear("o", a * b + q, "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- tp 2: heads-multiple: parallel.tp = 2: with 1 head of keys, 2 ranks share each; kv_heads = 2 of another attention cannot be shared so
-- tp 2, whole norms: heads-multiple: parallel.tp = 2: with 1 head of keys, 2 ranks share each; kv_heads = 2 of another attention cannot be shared so
