return model {
  sizes = { layers = 3, width = 16, ffn = 32, vocab = 64 },
  bias = true,
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = layernorm("e", embedding("wte", tokens, { "vocab", "width" }))
    x = stack("h", m.layers, x, function(x)
      return layernorm("n", x + linear("down", gelu(linear("up", x, "ffn")), "width"))
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
