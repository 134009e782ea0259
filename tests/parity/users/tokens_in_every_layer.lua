-- per-layer embeddings (Gemma 3n): each layer looks tokens up again.
return model {
  sizes = { layers = 3, width = 8, small = 4, ffn = 12, vocab = 16 },
  forward = function(m)
    local tokens, targets = input("tokens", { "batch", "seq" }, "ids"), input("targets", { "batch", "seq" }, "ids")
    local x = embedding("e", tokens, { "vocab", "width" })
    x = stack("l", m.layers, x, function(x)
      local p = embedding("ple", tokens, { "vocab", "small" })
      x = x + linear("pd", gelu(linear("pg", x, "small")) * p, "width")
      return x + linear("d", silu(linear("u", rmsnorm("n", x), "ffn")), "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
