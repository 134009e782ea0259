return model {
  sizes = { width = 16, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local x = embedding("a", tokens, { "vocab", "width" })
    return cross_entropy(linear("head", x, "vocab"), tokens)
  end,
}
-- >>> expected
-- predict_same_token.lua:6:12: error[wrong-ids]: cross_entropy: these are the
--     tokens that the model sees, not those that come next
--     6 |     return cross_entropy(linear("head", x, "vocab"), tokens)
--       |            ^~~~~~~~~~~~~
--         fix: input("targets", { "batch", "seq" }, "ids")
