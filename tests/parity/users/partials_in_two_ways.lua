-- Sums over divided features, read as summands by one and whole by another.
return model {
  sizes = { layers = 2, width = 16, ffn = 32, vocab = 32 },

  forward = function(m)
    local x = embedding("wte", input("tokens", { "batch", "seq" }, "ids"), { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local a = linear("a", gelu(linear("a.up", x, "ffn")), "width")
      local b = linear("b", silu(linear("b.up", x, "ffn")), "width")
      local sum = a + b
      return x + sum + tanh(a - b) * rmsnorm("n", sum)
    end)
    return cross_entropy(linear("head", x, "vocab"), input("targets", { "batch", "seq" }, "ids"))
  end,
}
-- >>> expected
