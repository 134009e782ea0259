return model {
  sizes = { width = 16, ffn = 32, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    local up, down = weight("up.weight", { "ffn", "width" }), weight("down.weight", { "width", "ffn" })
    for i = 1, 3 do x = x + linear(down, gelu(linear(up, x))) end
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
