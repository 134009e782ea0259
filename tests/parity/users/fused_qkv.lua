return model {
  sizes = { layers = 2, width = 16, qkv = 3, heads = 4, head = 4, vocab = 64 },
  bias = true,
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local q, k, v = split(linear("qkv", x, { "qkv", "heads", "head" }), "qkv")
      return x + linear("o", attention(rope(q), rope(k), v, { causal = true }), "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
