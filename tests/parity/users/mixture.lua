return model {
  sizes = { layers = 2, width = 16, experts = 4, ffn = 32, vocab = 64 },
  axes = { experts = "tp" },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      return x + linear("down", gelu(linear("up", x, { "experts", "ffn" })) * linear("gate", x, "experts"), "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
