-- sizes named as Lua keywords, ops, axes.
return model {
  sizes = { layers = 2, linear = 8, stack = 12, tp = 4, ["end"] = 6, vocab = 18, dp = 3, weight = 5 },
  axes = { stack = "tp", ["end"] = "tp" },
  forward = function(m)
    local tokens, targets = input("tokens", { "batch", "seq" }, "ids"), input("targets", { "batch", "seq" }, "ids")
    local x = embedding("e", tokens, { "vocab", "linear" })
    x = stack("stack", m.layers, x, function(x)
      local h = linear("u", x, { "stack", "tp" })
      return x + linear("d", gelu(h), "linear") + linear("d2", relu(linear("u2", x, { "end", "dp" })), "linear") + linear("d3", relu(linear("u3", x, { "dp", "end" })), "linear")
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
