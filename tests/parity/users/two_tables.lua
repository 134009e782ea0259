return model {
  sizes = { width = 16, vocab = 64, positions = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("a", tokens, { "vocab", "width" }) * embedding("b", tokens, { "vocab", "width" })
    x = x + embedding("p", positions(tokens), { "positions", "width" })
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
