-- Smoothing and z are the same over a vocabulary that ranks share, and in chunks of tokens.
return model {
  sizes = { layers = 2, width = 16, ffn = 32, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x) return x + linear("down", silu(linear("up", x, "ffn")), "width") end)
    return cross_entropy(linear("head", x, "vocab"), targets, { smoothing = 0.1, z = 1e-3 })
  end,
}
-- >>> expected
