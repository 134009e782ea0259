return model {
  sizes = { width = 16, heads = 2, head = 8, v_head = 4, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    local q, k, v = linear("q", x, { "heads", "head" }), linear("k", x, { "heads", "head" }), linear("v", x, { "heads", "v_head" })
    x = x + linear("o", attention(q, k, v, { causal = true }), "width")
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- head_sizes.lua:8:25: error[attention-shape]: attention: k is [batch, seq, heads,
--     head] but v is [batch, seq, heads, v_head]
--     8 |     x = x + linear("o", attention(q, k, v, { causal = true }), "width")
--       |                         ^~~~~~~~~
