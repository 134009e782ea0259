return model {
  sizes = { layers = 2, width = 16, heads = 4, head = 4, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local q, k, v = linear("q", x, { "heads", "head" }), linear("k", x, "head"), linear("v", x, "head")
      return x + linear("o", attention(q, k, v, { causal = true }), "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- kv_without_heads.lua:9:30: error[attention-shape]: attention: q and k need
--     features [heads, head] with the same last one, got [heads, head] and [head]
--     9 |       return x + linear("o", attention(q, k, v, { causal = true }), "width")
--       |                              ^~~~~~~~~
