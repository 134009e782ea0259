return model {
  sizes = { width = 15, heads = 3, head = 5, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    local q, k, v = linear("q", x, { "heads", "head" }), linear("k", x, { "heads", "head" }), linear("v", x, { "heads", "head" })
    x = x + linear("o", attention(rope(q), rope(k), v, { causal = true }), "width")
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- rope_odd.lua:8:35: error[rope-shape]: rope: pairs of numbers are turned, and
--     head = 5 is odd
--     8 |     x = x + linear("o", attention(rope(q), rope(k), v, { causal = true }), "width")
--       |                                   ^~~~
