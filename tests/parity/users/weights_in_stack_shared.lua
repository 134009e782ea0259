return model {
  sizes = { layers = 2, width = 16, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local w = weight("w", { "width", "width" })
      return x + relu(linear(w, relu(linear(w, x))))
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- weights_in_stack_shared.lua:8:17: error[repeated-dimension]: weight: 'width' is
--     twice in one list
--     8 |       local w = weight("w", { "width", "width" })
--       |                 ^~~~~~
