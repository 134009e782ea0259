return model {
  sizes = { width = 16, heads = 2, kv_heads = 4, head = 8, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    local q, k, v = linear("q", x, { "heads", "head" }), linear("k", x, { "kv_heads", "head" }), linear("v", x, { "kv_heads", "head" })
    x = x + linear("o", attention(q, k, v, { causal = true }), "width")
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- more_kv_heads.lua:8:25: error[heads-multiple]: attention: heads = 2 is not a
--     multiple of kv_heads = 4
--     8 |     x = x + linear("o", attention(q, k, v, { causal = true }), "width")
--       |                         ^~~~~~~~~
--         fix: kv_heads = 2
