-- Parts of parts: one product makes six values.
return model {
  sizes = { layers = 2, width = 16, two = 2, three = 3, ffn = 8, vocab = 32 },
  axes = { three = false },
  init = "kaiming_uniform",
  forward = function(m)
    local tokens, targets = input("tokens", { "batch", "seq" }, "ids"), input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local a, b = split(linear("up", rmsnorm("n", x), { "two", "three", "ffn" }), "two")
      local a1, a2, a3 = split(a, "three")
      local b1, b2, b3 = split(b, "three")
      return x + linear("down", a1 * b3 + silu(a2) * b2 - tanh(a3) * b1, "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
