return model {
  sizes = { layers = 2, width = 16, vocab = 64, ffn = 32 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x) return x + linear("down", gelu(linear("up", x, "ffn")), "width") end)
    return cross_entropy(x, targets)
  end,
}
-- >>> expected
-- loss_over_width_linear.lua:8:12: error[loss-shape]: cross_entropy: targets are
--     tokens, 64 of them (vocab), but the logits [width] have 16 classes
--     8 |     return cross_entropy(x, targets)
--       |            ^~~~~~~~~~~~~
--         fix: cross_entropy(linear("head", x, "vocab"), targets)
--     loss_over_width_linear.lua:6:15: note: tokens are looked up here
