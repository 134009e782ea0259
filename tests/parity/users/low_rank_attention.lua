return model {
  sizes = { layers = 2, width = 16, rank = 4, heads = 4, head = 4, ffn = 32, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local h = rmsnorm("n", x)
      local kv = rmsnorm("kvn", linear("kv_a", h, "rank"))
      local q = linear("q_b", rmsnorm("qan", linear("q_a", h, "rank")), { "heads", "head" })
      local k, v = linear("k_b", kv, { "heads", "head" }), linear("v_b", kv, { "heads", "head" })
      return x + linear("o", attention(rope(q), rope(k), v, { causal = true }), "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
