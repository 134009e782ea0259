return model {
  sizes = { width = 16, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    return cross_entropy(linear("head", x, "vocab"), targets, { label_smoothing = 0.1 })
  end,
}
-- >>> expected
-- label_smoothing.lua:7:12: error[unknown-option]: cross_entropy: no option
--     'label_smoothing'; it has smoothing, z, name
--     7 |     return cross_entropy(linear("head", x, "vocab"), targets, { label_smoothing = 0.1 })
--       |            ^~~~~~~~~~~~~
