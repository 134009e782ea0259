return model {
  sizes = { layers = 3, width = 16, ffn = 32, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    for i = 1, m.layers do x = x + linear("down", gelu(linear("up", x, "ffn")), "width") end
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- loop_same_names.lua:7:36: error[duplicate-parameter]: parameter 'up.weight' is
--     made twice; to share it, make it with weight() and pass the handle
--     7 |     for i = 1, m.layers do x = x + linear("down", gelu(linear("up", x, "ffn")), "width") e
--       |                                    ^~~~~~
--     loop_same_names.lua:7:36: note: it is made here first
