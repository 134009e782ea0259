-- two token streams is refused; tokens and numbers of each position.
return model {
  sizes = { layers = 2, width = 12, nums = 2, ffn = 16, vocab = 21 },
  forward = function(m)
    local tokens, targets = input("tokens", { "batch", "seq" }, "ids"), input("targets", { "batch", "seq" }, "ids")
    local n = input("n", { "batch", "seq", "nums" })
    local x = embedding("e", tokens, { "vocab", "width" }) + linear("n", n, "width")
    x = stack("l", m.layers, x, function(x) return x + linear("d", silu(linear("u", x, "ffn")), "width") * linear("n2", n, "width") end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- tp 2: degrees: parallel.tp = 2 does not divide vocab = 21; nearest: 1 or 3
-- tp 2, whole norms: degrees: parallel.tp = 2 does not divide vocab = 21; nearest: 1 or 3
