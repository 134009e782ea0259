return model {
  sizes = { width = 16, heads = 2, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = x + attention(linear("q", x, "width"), linear("k", x, "width"), linear("v", x, "width"), m.heads)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- attention_flat.lua:7:13: error[not-options]: attention: argument 4 holds
--     options, { causal = ... }; got the number 2
--     7 |     x = x + attention(linear("q", x, "width"), linear("k", x, "width"), linear("v", x, "wi
--       |             ^~~~~~~~~
