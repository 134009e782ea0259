return model {
  sizes = { layers = 2, width = 16, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    return cross_entropy(x, targets)
  end,
}
-- >>> expected
-- loss_over_width.lua:7:12: error[loss-shape]: cross_entropy: targets are tokens,
--     64 of them (vocab), but the logits [width] have 16 classes
--     7 |     return cross_entropy(x, targets)
--       |            ^~~~~~~~~~~~~
--         fix: cross_entropy(linear("head", x, "vocab"), targets)
--     loss_over_width.lua:6:15: note: tokens are looked up here
