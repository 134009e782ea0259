return model {
  sizes = { layers = 1, width = 1, heads = 1, head = 2, ffn = 1, vocab = 2 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local q, k, v = linear("q", x, { "heads", "head" }), linear("k", x, { "heads", "head" }), linear("v", x, { "heads", "head" })
      x = x + linear("o", attention(rope(q), rope(k), v, { causal = true }), "width")
      return x + linear("down", gelu(linear("up", layernorm("n", x), "ffn")), "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- tp 2: heads-multiple: parallel.tp = 2 does not divide heads = 1; nearest: 1
-- tp 2: degrees: parallel.tp = 2 does not divide ffn = 1; nearest: 1
-- tp 2, whole norms: heads-multiple: parallel.tp = 2 does not divide heads = 1; nearest: 1
-- tp 2, whole norms: degrees: parallel.tp = 2 does not divide ffn = 1; nearest: 1
