-- Three heads, a vocabulary of 31 and a hidden size of 9: little can be divided by two.
return model {
  sizes = { layers = 2, width = 12, heads = 3, kv_heads = 3, head = 4, ffn = 9, vocab = 31 },

  forward = function(m)
    local x = embedding("wte", input("tokens", { "batch", "seq" }, "ids"), { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local q, k = linear("q", x, { "heads", "head" }), linear("k", x, { "kv_heads", "head" })
      local a = attention(q, k, linear("v", x, { "kv_heads", "head" }), { causal = true })
      x = x + linear("o", a, "width")
      return x + linear("down", gelu(linear("up", x, "ffn")), "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), input("targets", { "batch", "seq" }, "ids"))
  end,
}
-- >>> expected
-- tp 2: degrees: parallel.tp = 2 does not divide vocab = 31; nearest: 1 or 31
-- tp 2: heads-multiple: parallel.tp = 2 does not divide heads = 3; nearest: 1 or 3
-- tp 2: heads-multiple: parallel.tp = 2 does not divide kv_heads = 3 (nor is it a multiple); nearest: 1 or 3
-- tp 2: degrees: parallel.tp = 2 does not divide ffn = 9; nearest: 1 or 3
-- tp 2, whole norms: degrees: parallel.tp = 2 does not divide vocab = 31; nearest: 1 or 31
-- tp 2, whole norms: heads-multiple: parallel.tp = 2 does not divide heads = 3; nearest: 1 or 3
-- tp 2, whole norms: heads-multiple: parallel.tp = 2 does not divide kv_heads = 3 (nor is it a multiple); nearest: 1 or 3
-- tp 2, whole norms: degrees: parallel.tp = 2 does not divide ffn = 9; nearest: 1 or 3
