return model {
  sizes = { layers = 2, width = 16, heads = 4, head = 4, ffn = 32, vocab = 64 },
  bias = true,
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local h = layernorm("n", x)
      local q, k, v = linear("q", h, { "heads", "head" }), linear("k", h, { "heads", "head" }), linear("v", h, { "heads", "head" })
      local a = rmsnorm("an", attention(rope(q), rope(k), v, { causal = true }))
      return rmsnorm("post", x + linear("o", silu(linear("g", h, { "heads", "head" })) * a, "width"))
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
