return model {
  sizes = { layers = 3, width = 16, ffn = 32, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    local function ffn(name, x) return x + linear(name .. ".down", gelu(linear(name .. ".up", rmsnorm(name .. ".n", x), "ffn")), "width") end
    x = ffn("before", x)
    x = stack("h", m.layers, x, function(x) return ffn("a", ffn("b", x)) end)
    return cross_entropy(linear("head", ffn("after", x), "vocab"), targets)
  end,
}
-- >>> expected
