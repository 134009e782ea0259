return model {
  sizes = { layers = 2, width = 16, heads = 2, head = 8, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local h = layernorm("n", x)
      return x + linear("o", attention(linear("q", h, { "heads", "head" }), linear("k", h, { "heads", "head" }), linear("v", h, { "heads", "head" })), "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
