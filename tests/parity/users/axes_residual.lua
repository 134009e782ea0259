-- the residual itself divided by tp.
return model {
  sizes = { layers = 2, width = 8, hidden = 12, vocab = 12 },
  axes = { width = "tp", vocab = false },
  forward = function(m)
    local tokens, targets = input("tokens", { "batch", "seq" }, "ids"), input("targets", { "batch", "seq" }, "ids")
    local x = embedding("e", tokens, { "vocab", "width" })
    x = stack("l", m.layers, x, function(x)
      return x + linear("d", silu(linear("u", rmsnorm("n", x), "hidden", { bias = true })), "width", { bias = true })
    end)
    return cross_entropy(linear("head", layernorm("f", x), "vocab"), targets)
  end,
}
-- >>> expected
