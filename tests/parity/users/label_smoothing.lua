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
-- label_smoothing.lua:7:12: error[extra-argument]: cross_entropy(logits, targets)
--     takes 2 arguments; argument 3 is the table { label_smoothing = ... }
--     7 |     return cross_entropy(linear("head", x, "vocab"), targets, { label_smoothing = 0.1 })
--       |            ^~~~~~~~~~~~~
--         fix: cross_entropy(logits, targets)
--     note: it is the mean over all targets: no label smoothing, class weights or
--     other reductions
