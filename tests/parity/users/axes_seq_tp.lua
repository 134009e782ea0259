return model {
  sizes = { layers = 2, width = 8, ffn = 12, vocab = 12 },
  axes = { seq = "tp" },
  forward = function(m)
    local tokens, targets = input("tokens", { "batch", "seq" }, "ids"), input("targets", { "batch", "seq" }, "ids")
    local x = embedding("e", tokens, { "vocab", "width" })
    x = stack("l", m.layers, x, function(x) return x + linear("d", silu(linear("u", rmsnorm("n", x), "ffn")), "width") end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- cp 2: degrees: parallel.cp cuts seq and nothing else; 'seq' is on another axis
