-- One side is of samples, the other of positions: neither has all that the other has.
return model {
  sizes = { layers = 2, width = 8, kinds = 3, positions = 64, vocab = 16 },
  forward = function(m)
    local tokens, targets = input("tokens", { "batch", "seq" }, "ids"), input("targets", { "batch", "seq" }, "ids")
    local kind = input("kind", { "batch" }, "ids")
    local x = embedding("e", tokens, { "vocab", "width" }) + (embedding("k", kind, { "kinds", "width" }) + embedding("p", positions(tokens), { "positions", "width" }))
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- samples_and_positions.lua:7:60: error[dimension-mismatch]: add: [batch, width]
--     and [seq, width]: 'batch' is missing on the other side; names must match
--     7 |     local x = embedding("e", tokens, { "vocab", "width" }) + (embedding("k", kind, { "kind
--       |                                                            ^
--         fix: (x + a) + b in place of x + (a + b), where x has batch and seq
--     samples_and_positions.lua:7:15: note: [batch, width] is made here
--     samples_and_positions.lua:7:15: note: [seq, width] is made here
