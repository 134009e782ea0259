return model {
  sizes = { vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    return cross_entropy(embedding("table", tokens, { "vocab", "vocab" }), targets)
  end,
}
-- >>> expected
-- bigram.lua:6:26: error[repeated-dimension]: embedding: 'vocab' is twice in one
--     list
--     6 |     return cross_entropy(embedding("table", tokens, { "vocab", "vocab" }), targets)
--       |                          ^~~~~~~~~
