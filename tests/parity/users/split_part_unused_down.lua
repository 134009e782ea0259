return model {
  sizes = { width = 16, two = 2, ffn = 8, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    local a = split(linear("qkv", x, { "two", "ffn" }), "two")
    return cross_entropy(linear("head", x + linear("down", a, "width"), "vocab"), targets)
  end,
}
-- >>> expected
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
