-- A token sees the last five tokens, whichever rank has their keys; scores have a soft cap.
return model {
  sizes = { layers = 2, width = 16, heads = 4, kv_heads = 2, head = 4, ffn = 32, vocab = 64, window = 5 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x, m)
      local h = rmsnorm("n", x)
      local q, k = linear("q", h, { "heads", "head" }), linear("k", h, { "kv_heads", "head" })
      local v = linear("v", h, { "kv_heads", "head" })
      local a = attention(rope(q), rope(k), v, { causal = true, window = m.window, softcap = 0.5 })
      return x + linear("o", a, "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
