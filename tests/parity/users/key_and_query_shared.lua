-- a linear layer from [heads, head] to [heads, head] shared for q and k.
return model {
  sizes = { layers = 2, width = 12, heads = 4, head = 4, vocab = 12 },
  forward = function(m)
    local tokens, targets = input("tokens", { "batch", "seq" }, "ids"), input("targets", { "batch", "seq" }, "ids")
    local x = embedding("e", tokens, { "vocab", "width" })
    x = stack("l", m.layers, x, function(x)
      local w = weight("qk", { "heads", "head", "width" })
      local q, k = rope(linear(w, x)), rope(linear(w, tanh(x)))
      return x + linear(w, attention(q, k, linear("v", x, { "heads", "head" }), { causal = true }))
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
