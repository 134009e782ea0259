-- one table: embeds tokens, is the head, and in between both ways.
return model {
  sizes = { layers = 2, width = 8, ffn = 12, vocab = 18 },
  forward = function(m)
    local tokens, targets = input("tokens", { "batch", "seq" }, "ids"), input("targets", { "batch", "seq" }, "ids")
    local w = weight("w", { "vocab", "width" })
    local x = embedding(w, tokens)
    x = x + linear(w, gelu(linear(w, x)))
    x = stack("l", m.layers, x, function(x) return x + linear("d", silu(linear("u", rmsnorm("n", x), "ffn")), "width") end)
    x = x - linear(w, tanh(linear(w, x)))
    return cross_entropy(linear(w, x), targets)
  end,
}
-- >>> expected
