-- What tp divides is taken apart.
return model {
  sizes = { layers = 2, width = 16, heads = 4, head = 8, vocab = 32 },
  forward = function(m)
    local tokens, targets = input("tokens", { "batch", "seq" }, "ids"), input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local a, b, c, d = split(linear("up", x, { "heads", "head" }), "heads")
      return x + linear("down", a * b - c * d, "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- tp 2: degrees: split: parallel.tp divides 'heads', which is taken apart
-- tp 2, whole norms: degrees: split: parallel.tp divides 'heads', which is taken apart
