return model {
  sizes = { width = 16, vocab = 64, heads = 2, head = 8 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    return cross_entropy(linear("head", x, { "heads", "head" }), targets)
  end,
}
-- >>> expected
-- loss_over_heads.lua:7:12: error[loss-shape]: cross_entropy: expected one feature
--     dimension (the classes), got [heads, head]
--     7 |     return cross_entropy(linear("head", x, { "heads", "head" }), targets)
--       |            ^~~~~~~~~~~~~
