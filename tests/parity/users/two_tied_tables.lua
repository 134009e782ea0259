-- Two tables, each looked up and a head, and one of them in the middle, too.
return model {
  sizes = { layers = 2, width = 16, ffn = 32, vocab = 32 },

  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local a, b = weight("a", { "vocab", "width" }), weight("b", { "vocab", "width" })
    local x = embedding(a, tokens) - embedding(b, tokens)
    x = stack("h", m.layers, x, function(x)
      return x + linear("down", gelu(linear("up", layernorm("n", x), "ffn")), "width")
    end)
    return cross_entropy(linear(a, x) + linear(b, x), input("targets", { "batch", "seq" }, "ids"))
  end,
}
-- >>> expected
