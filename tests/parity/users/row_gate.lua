-- What is of a whole sample goes through activations, norms, products and parts on its own, before it meets tokens.
return model {
  sizes = { layers = 2, width = 16, kinds = 4, inputs = 3, two = 2, ffn = 32, gate = 8, positions = 64, vocab = 32 },
  bias = true,
  init = "kaiming_uniform",
  forward = function(m)
    local tokens, targets = input("tokens", { "batch", "seq" }, "ids"), input("targets", { "batch", "seq" }, "ids")
    local kind, n = input("kind", { "batch" }, "ids"), input("n", { "batch", "inputs" })
    local x = embedding("wte", tokens, { "vocab", "width" }) + layernorm("kn", embedding("kind", kind, { "kinds", "width" }))
    x = stack("h", m.layers, x, function(x)
      local r = dropout(gelu(linear("r", n, "gate")), 0.1)
      local a, b = split(linear("ab", rmsnorm("rn", r * r), { "two", "width" }), "two")
      local p = embedding("wpe", positions(tokens), { "positions", "width" })
      local h = (x * a + b) * rmsnorm("pn", p)
      return x + linear("down", silu(linear("up", h, "ffn")), "width") * tanh(embedding("gate", kind, { "kinds", "width" }) - a)
    end)
    return cross_entropy(linear("head", x, "vocab") - linear("hn", n, "vocab"), targets)
  end,
}
-- >>> expected
