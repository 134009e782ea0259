return model {
  sizes = { layers = 3, width = 16, ffn = 32, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    for i = 1, m.layers do
      x = x + linear("down." .. i, gelu(linear("up." .. i, rmsnorm("n." .. i, x), "ffn")), "width")
    end
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
