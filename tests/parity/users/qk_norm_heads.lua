-- Norms over each head run on the heads of a rank; weights that multiply or are added are cut as what they meet.
return model {
  sizes = { layers = 2, width = 16, heads = 4, kv_heads = 2, head = 4, ffn = 32, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local h = rmsnorm("n", x, { offset = 1 })
      local q, k = linear("q", h, { "heads", "head" }), linear("k", h, { "kv_heads", "head" })
      local v = linear("v", h, { "kv_heads", "head" }) * weight("vs", "head", { init = { "constant", value = 1 } })
      q, k = rmsnorm("qn", q, { over = "head" }), layernorm("kn", k, { over = "head", offset = 1 })
      x = x + linear("o", attention(rope(q), rope(k), v, { causal = true }), "width") * weight("os", "width")
      local f = weight("fs", "ffn", { init = { "constant", value = 1 } })
      return x + linear("down", f * (silu(linear("up", x, "ffn")) - weight("fb", "ffn")), "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
