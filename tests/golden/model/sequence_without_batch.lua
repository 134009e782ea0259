-- Attention and rope are for the sequences of samples.
return model {
  sizes = { vocab = 16, positions = 64, heads = 2, head = 4 },
  forward = function(m)
    local tokens, targets = input("tokens", { "batch", "seq" }, "ids"), input("targets", { "batch", "seq" }, "ids")
    local p = embedding("p", positions(tokens), { "positions", "heads", "head" })
    local a = attention(p, p, p, { causal = true })
    local b = rope(p)
    return cross_entropy(linear("head", embedding("e", tokens, { "vocab", "heads", "head" }) + a + b, "vocab"), targets)
  end,
}
-- >>> expected
-- sequence_without_batch.lua:7:15: error[no-dimension]: attention: [seq, heads,
--     head] is of positions alone, and samples have sequences: it lacks 'batch'
--     7 |     local a = attention(p, p, p, { causal = true })
--       |               ^~~~~~~~~
-- sequence_without_batch.lua:8:15: error[no-dimension]: rope: [seq, heads, head]
--     is of positions alone, and samples have sequences: it lacks 'batch'
--     8 |     local b = rope(p)
--       |               ^~~~
