return model {
  sizes = { width = 16, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("a", tokens, { "vocab", "width" }) + embedding("b", targets, { "vocab", "width" })
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- targets_embedded.lua:6:15: error[wrong-ids]: embedding: 'targets' are what the
--     model must predict; only the loss may read them
--     6 |     local x = embedding("a", tokens, { "vocab", "width" }) + embedding("b", targets, { "vo
--       |               ^~~~~~~~~
