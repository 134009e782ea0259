return model {
  sizes = { width = 16, vocab = 64 },
  forward = function(m)
    local tokens = input("idx", { "batch", "seq" }, "ids")
    local labels = input("labels", { "batch", "seq" }, "ids")
    local x = embedding("a", tokens, { "vocab", "width" })
    return cross_entropy(linear("head", x, "vocab"), labels)
  end,
}
-- >>> expected
-- labels_not_targets.lua:5:20: error[second-tokens]: input: 'labels': 'idx'
--     already takes the tokens; the next token is the input named 'targets'
--     5 |     local labels = input("labels", { "batch", "seq" }, "ids")
--       |                    ^~~~~
--         fix: input("targets", { "batch", "seq" }, "ids")
