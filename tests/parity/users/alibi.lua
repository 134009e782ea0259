return model {
  sizes = { layers = 2, width = 16, heads = 4, head = 4, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local q, k, v = linear("q", x, { "heads", "head" }), linear("k", x, { "heads", "head" }), linear("v", x, { "heads", "head" })
      return x + linear("o", attention(q, k, v, { causal = true, bias = "alibi" }), "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- alibi.lua:9:30: error[unknown-option]: attention: no option 'bias'; it has
--     causal, dropout, scale, softcap, window
--     9 |       return x + linear("o", attention(q, k, v, { causal = true, bias = "alibi" }), "width
--       |                              ^~~~~~~~~
