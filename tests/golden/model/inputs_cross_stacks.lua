-- job: context = 32
-- What may cross: inputs, and positions, which every region counts itself.
return model {
  sizes = { width = 8, vocab = 16, positions = 32 },
  forward = function(m)
    local ids, y = input("tokens", { "batch", "seq" }, "ids"), input("targets", { "batch", "seq" }, "ids")
    local place = positions(ids)
    local x = embedding("t", ids, { "vocab", "width" })
    x = stack("blocks", 2, x, function(x)
      return x + embedding("p", place, { "positions", "width" }) + embedding("again", ids, { "vocab", "width" })
    end)
    x = stack("more", 3, x, function(x) return gelu(x) end)
    return cross_entropy(linear("head", x + embedding("q", place, { "positions", "width" }), "vocab"), y)
  end,
}
-- >>> expected
-- 1280 parameters
-- begin x 1:
--   = embedding t [batch, seq, width]
-- blocks x 2: [batch, seq, width]
--     positions blocks.*.positions [seq]
--     embedding blocks.*.p [seq, width]
--     add blocks.*.add [batch, seq, width]
--     embedding blocks.*.again [batch, seq, width]
--   = add blocks.*.add.2 [batch, seq, width]
-- more x 3: [batch, seq, width]
--   = gelu more.*.gelu [batch, seq, width]
-- end x 1: [batch, seq, width]
--     positions positions.2 [seq]
--     embedding q [seq, width]
--     add add [batch, seq, width]
--     linear head [batch, seq, vocab]
--     cross_entropy cross_entropy
