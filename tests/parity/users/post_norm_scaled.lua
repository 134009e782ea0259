-- DeepNorm-like alpha, and mixing with the first dimension.
return model {
  sizes = { layers = 4, width = 8, ffn = 8, vocab = 16, alpha = 1.7 },
  forward = function(m)
    local tokens, targets = input("tokens", { "batch", "seq" }, "ids"), input("targets", { "batch", "seq" }, "ids")
    local x = embedding("e", tokens, { "vocab", "width" })
    x = stack("l", m.layers, x, function(x, m)
      return layernorm("n", m.alpha * x + 0.5 * linear("d", gelu(linear("u", x, "ffn")), "width"))
    end)
    return cross_entropy(linear("head", x / 3 - 1, "vocab"), targets)
  end,
}
-- >>> expected
