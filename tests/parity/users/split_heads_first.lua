return model {
  sizes = { layers = 2, width = 16, qkv = 3, heads = 4, head = 4, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    local q, k, v = split(linear("qkv", x, { "heads", "qkv", "head" }), "qkv")
    x = x + linear("o", attention(q, k, v, { causal = true }), "width")
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- split_heads_first.lua:7:21: error[split-first]: split: 'qkv' is not the first
--     feature of [batch, seq, heads, qkv, head]; only that one can be split
--     7 |     local q, k, v = split(linear("qkv", x, { "heads", "qkv", "head" }), "qkv")
--       |                     ^~~~~
