-- Both branches read one norm and are added at once; queries, keys and values are one product.
return model {
  sizes = { layers = 2, width = 16, three = 3, heads = 2, half = 4, ffn = 32, vocab = 32 },
  axes = { half = false },
  bias = true,

  forward = function(m)
    local x = embedding("wte", input("tokens", { "batch", "seq" }, "ids"), { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local n = layernorm("ln", x)
      local q, k, v = split(linear("qkv", n, { "three", "heads", "half" }), "three")
      local a = attention(rope(q), rope(k), v, { causal = true })
      return x + (linear("out", a, "width") + linear("down", gelu(linear("up", n, "ffn")), "width"))
    end)
    return cross_entropy(linear("head", layernorm("ln_f", x), "vocab"), input("targets", { "batch", "seq" }, "ids"))
  end,
}
-- >>> expected
