return model {
  sizes = { layers = 2, width = 16, two = 2, ffn = 32, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local a, b = split(linear("p", x, { "two", "width" }), "two")
      return x + linear("down", gelu(linear("up", a, "ffn")), "width") + b
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
