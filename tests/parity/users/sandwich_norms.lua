-- Gemma 2: norms before and after each half.
return model {
  sizes = { layers = 3, width = 12, heads = 3, kv_heads = 1, head = 4, ffn = 20, vocab = 33 },
  forward = function(m)
    local tokens, targets = input("tokens", { "batch", "seq" }, "ids"), input("targets", { "batch", "seq" }, "ids")
    local e = weight("e", { "vocab", "width" })
    local x = embedding(e, tokens) * math.sqrt(m.width)
    x = stack("l", m.layers, x, function(x)
      local h = rmsnorm("n1", x)
      local q, k, v = linear("q", h, { "heads", "head" }), linear("k", h, { "kv_heads", "head" }), linear("v", h, { "kv_heads", "head" })
      x = x + rmsnorm("n2", linear("o", attention(rope(q), rope(k), v, { causal = true }), "width"))
      h = rmsnorm("n3", x)
      return x + rmsnorm("n4", linear("down", gelu(linear("gate", h, "ffn")) * linear("up", h, "ffn"), "width"))
    end)
    return cross_entropy(linear(e, rmsnorm("f", x)), targets)
  end,
}
-- >>> expected
-- tp 2: degrees: parallel.tp = 2 does not divide vocab = 33; nearest: 1 or 3
-- tp 2: heads-multiple: parallel.tp = 2 does not divide heads = 3; nearest: 1 or 3
-- tp 2, whole norms: degrees: parallel.tp = 2 does not divide vocab = 33; nearest: 1 or 3
-- tp 2, whole norms: heads-multiple: parallel.tp = 2 does not divide heads = 3; nearest: 1 or 3
