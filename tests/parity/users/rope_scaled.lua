return model {
  sizes = { layers = 2, width = 16, heads = 4, head = 4, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    local angle = { base = 5e5, factor = 8, low_freq = 1, high_freq = 4, original_positions = 12 }
    x = stack("h", m.layers, x, function(x)
      local q, k, v = linear("q", x, { "heads", "head" }), linear("k", x, { "heads", "head" }), linear("v", x, { "heads", "head" })
      return x + linear("o", attention(rope(q, angle), rope(k, angle), v, { causal = true }), "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
