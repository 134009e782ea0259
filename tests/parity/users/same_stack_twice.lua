return model {
  sizes = { layers = 2, width = 16, ffn = 32, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    local function block(x) return x + linear("down", gelu(linear("up", x, "ffn")), "width") end
    x = stack("a", m.layers, stack("a", m.layers, x, block), block)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- same_stack_twice.lua:8:9: error[duplicate-parameter]: stack: there are two named
--     'a'
--     8 |     x = stack("a", m.layers, stack("a", m.layers, x, block), block)
--       |         ^~~~~
