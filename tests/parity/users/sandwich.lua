-- A norm before and after each branch, a gate by a scalar weight each, no norm at the end.
return model {
  sizes = { layers = 2, width = 16, heads = 4, head = 4, ffn = 32, vocab = 32 },

  forward = function(m)
    local x = embedding("wte", input("tokens", { "batch", "seq" }, "ids"), { "vocab", "width" })
    x = rmsnorm("first", x)
    x = stack("h", m.layers, x, function(x)
      local n = rmsnorm("n1", x)
      local q, k = linear("q", n, { "heads", "head" }), linear("k", n, { "heads", "head" })
      local a = attention(rmsnorm("qn", q), rope(rmsnorm("kn", k)), linear("v", n, { "heads", "head" }))
      x = x + 0.7 * rmsnorm("n2", linear("o", a, "width"))
      return x + 0.7 * rmsnorm("n4", linear("down", relu(linear("up", rmsnorm("n3", x), "ffn")), "width"))
    end)
    return cross_entropy(linear("head", x, "vocab"), input("targets", { "batch", "seq" }, "ids"))
  end,
}
-- >>> expected
