return model {
  sizes = { layers = 2, width = 16, ffn = 32, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("a", m.layers, x, function(x)
      return stack("b", 2, x, function(x) return x + linear("down", gelu(linear("up", x, "ffn")), "width") end)
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- stack_in_stack.lua:8:14: error[nested-stack]: stack: a stack inside a stack;
--     there is one level only
--     8 |       return stack("b", 2, x, function(x) return x + linear("down", gelu(linear("up", x, "
--       |              ^~~~~
