return model {
  sizes = { layers = 2, width = 16, heads = 4, head = 4, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    local slopes = positions(tokens) * 0.5
    return cross_entropy(linear("head", x + slopes, "vocab"), targets)
  end,
}
-- >>> expected
-- alibi_by_hand.lua:7:38: error[needs-numbers]: multiply: argument 1 is numbers;
--     got the ids [seq]
--     7 |     local slopes = positions(tokens) * 0.5
--       |                                      ^
--         fix: embedding("name", ids, { "vocab", "width" })
