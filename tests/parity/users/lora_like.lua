return model {
  sizes = { layers = 2, width = 16, rank = 2, ffn = 32, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    local function adapted(name, x, out) return linear(name, x, out) + 2 * linear(name .. ".B", linear(name .. ".A", x, "rank"), out) end
    x = stack("h", m.layers, x, function(x)
      return x + adapted("down", gelu(adapted("up", x, "ffn")), "width")
    end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
