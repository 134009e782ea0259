-- Attention and a gated unit side by side, one key head, the head tied and scaled, as in PaLM.
return model {
  sizes = { layers = 2, width = 16, heads = 4, kv_heads = 1, head = 4, ffn = 32, vocab = 32 },

  forward = function(m)
    local wte = weight("wte", { "vocab", "width" })
    local x = embedding(wte, input("tokens", { "batch", "seq" }, "ids")) * 4
    x = stack("h", m.layers, x, function(x)
      local n = layernorm("norm", x)
      local q = rope(linear("q", n, { "heads", "head" }))
      local k = rope(linear("k", n, { "kv_heads", "head" }))
      local a = attention(q, k, linear("v", n, { "kv_heads", "head" }), { causal = true })
      local f = silu(linear("gate", n, "ffn")) * linear("up", n, "ffn")
      return x + linear("o", a, "width") + linear("down", f, "width")
    end)
    return cross_entropy(linear(wte, layernorm("last", x)) / 4, input("targets", { "batch", "seq" }, "ids"))
  end,
}
-- >>> expected
