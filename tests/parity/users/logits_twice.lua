return model {
  sizes = { width = 16, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    local l = linear("head", x, "vocab")
    return cross_entropy(l + l, targets)
  end,
}
-- >>> expected
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
