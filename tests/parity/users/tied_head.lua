return model {
  sizes = { layers = 2, width = 16, ffn = 32, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local wte = weight("wte.weight", { "vocab", "width" })
    local x = stack("h", m.layers, embedding(wte, tokens), function(x)
      return x + linear("down", gelu(linear("up", x, "ffn")), "width")
    end)
    return cross_entropy(linear(wte, x), targets)
  end,
}
-- >>> expected
