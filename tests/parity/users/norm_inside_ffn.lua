return model {
  sizes = { layers = 2, width = 16, ffn = 32, vocab = 64 },
  bias = true,
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local h = layernorm("fn", gelu(linear("up", layernorm("n", x), "ffn")))
      return x + linear("down", dropout(h, 0.1) * h, "width")
    end)
    return cross_entropy(linear("head", layernorm("f", x), "vocab"), targets)
  end,
}
-- >>> expected
