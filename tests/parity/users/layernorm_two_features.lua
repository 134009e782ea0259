return model {
  sizes = { layers = 2, width = 16, heads = 4, head = 4, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local h = layernorm("n", linear("q", x, { "heads", "head" }))
      return x + linear("o", h, "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
