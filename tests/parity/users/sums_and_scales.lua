return model {
  sizes = { layers = 2, width = 16, ffn = 32, vocab = 64 },
  bias = true,
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local a, b = linear("a", gelu(linear("up", x, "ffn")), "width"), linear("b", silu(linear("vp", x, "ffn")), "width")
      return 0.5 * x + (a - b) * 0.25 - a * b + 1 - tanh(a + b) * x
    end)
    return cross_entropy(linear("head", -x, "vocab"), targets)
  end,
}
-- >>> expected
