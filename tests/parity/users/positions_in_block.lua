return model {
  sizes = { layers = 2, width = 16, heads = 2, head = 8, vocab = 64, positions = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      return x + relu(linear("a", x + embedding("p", positions(tokens), { "positions", "width" }), "width"))
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
