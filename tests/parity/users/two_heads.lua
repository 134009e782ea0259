return model {
  sizes = { width = 16, vocab = 64, ffn = 32, layers = 2 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    local first = cross_entropy(linear("early", x, "vocab"), targets)
    x = stack("h", m.layers, x, function(x)
      return x + linear("down", silu(linear("up", rmsnorm("n", x), "ffn")), "width")
    end)
    local logits = linear("head", x, "vocab")
    local zs = cross_entropy(logits, targets, { name = "zs", z = 1e-2 }) - cross_entropy(logits, targets)
    return cross_entropy(linear("other", x, "vocab"), targets, { name = "lm" }) + 0.1 * first + zs / 4
  end,
}
-- >>> expected
