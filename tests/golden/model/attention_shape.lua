return model {
  sizes = { width = 8, heads = 2, head = 3, vocab = 4 },
  forward = function(m)
    local ids, y = input("tokens", { "batch", "seq" }, "ids"), input("targets", { "batch", "seq" }, "ids")
    local x = embedding("e", ids, { "vocab", "width" })
    local q, k = linear("q", x, { "heads", "head" }), linear("k", x, { "heads", "width" })
    local a = attention(q, k, q, { causal = true })
    local b = attention(x, x, x)
    local c = rope(q)
    local d = rope(input("f", { "batch", "width" }))
    return cross_entropy(linear("h", q, { "heads", "vocab" }), y)
  end,
}
-- >>> expected
-- attention_shape.lua:7:15: error[attention-shape]: attention: k is [batch, seq,
--     heads, width] but v is [batch, seq, heads, head]
--     7 |     local a = attention(q, k, q, { causal = true })
--       |               ^~~~~~~~~
-- attention_shape.lua:8:15: error[attention-shape]: attention: q and k need
--     features [heads, head] with the same last one, got [width] and [width]
--     8 |     local b = attention(x, x, x)
--       |               ^~~~~~~~~
-- attention_shape.lua:9:15: error[rope-shape]: rope: pairs of numbers are turned,
--     and head = 3 is odd
--     9 |     local c = rope(q)
--       |               ^~~~
-- attention_shape.lua:10:15: error[no-seq]: rope: [batch, width] has no 'seq' to
--     run along
--    10 |     local d = rope(input("f", { "batch", "width" }))
--       |               ^~~~
-- attention_shape.lua:11:12: error[loss-shape]: cross_entropy: expected one
--     feature dimension (the classes), got [heads, vocab]
--    11 |     return cross_entropy(linear("h", q, { "heads", "vocab" }), y)
--       |            ^~~~~~~~~~~~~
