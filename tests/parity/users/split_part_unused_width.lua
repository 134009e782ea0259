return model {
  sizes = { width = 16, two = 2, vocab = 64, layers = 2 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    local a, b = split(linear("qkv", x, { "two", "width" }), "two")
    x = stack("h", m.layers, b, function(x) local left, right = split(linear("l", x, { "two", "width" }), "two") return right end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
