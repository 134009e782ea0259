-- Parts of what a stack carries, in its layers and after the stack.
return model {
  sizes = { layers = 2, two = 2, width = 8, vocab = 32 },
  init = "kaiming_uniform",
  forward = function(m)
    local tokens, targets = input("tokens", { "batch", "seq" }, "ids"), input("targets", { "batch", "seq" }, "ids")
    local x = embedding("e", tokens, { "vocab", "two", "width" })
    x = stack("s", m.layers, x, function(x)
      local a, b = split(x, "two")
      local c = linear("d", a * tanh(b), { "two", "width" })
      local p, q = split(linear("m", x, { "two", "width" }), "two")
      return c * p + q
    end)
    local a, b = split(x, "two")
    return cross_entropy(linear("head", a - b, "vocab"), targets)
  end,
}
-- >>> expected
