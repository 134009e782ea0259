-- Both forms of gelu, and the word for the one that is taken without any.
return model {
  sizes = { width = 16, ffn = 32, vocab = 64 },
  axes = { ffn = "tp" },
  forward = function(m)
    local x = embedding("wte", input("tokens", { "batch", "seq" }, "ids"), { "vocab", "width" })
    x = x + linear("a", gelu(linear("b", x, "ffn"), "erf"), "width")
    x = x + gelu(x, "tanh") + gelu(x)
    return cross_entropy(linear("head", x, "vocab"), input("targets", { "batch", "seq" }, "ids"))
  end,
}
-- >>> expected
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
