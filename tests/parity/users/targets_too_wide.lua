return model {
  sizes = { width = 16, vocab = 64, classes = 32 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("a", tokens, { "vocab", "width" })
    return cross_entropy(linear("head", x, "classes"), targets)
  end,
}
-- >>> expected
-- targets_too_wide.lua:7:12: error[loss-shape]: cross_entropy: targets are tokens,
--     64 of them (vocab), but the logits [classes] have 32 classes
--     7 |     return cross_entropy(linear("head", x, "classes"), targets)
--       |            ^~~~~~~~~~~~~
--         fix: cross_entropy(linear("head", x, "vocab"), targets)
--     targets_too_wide.lua:6:15: note: tokens are looked up here
