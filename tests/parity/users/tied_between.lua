return model {
  sizes = { layers = 2, width = 16, inner = 8, ffn = 32, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local w = weight("w", { "inner", "width" })
    local x = linear(w, embedding("e", tokens, { "vocab", "width" }))
    x = stack("h", m.layers, x, function(x) return x + linear("down", gelu(linear("up", x, "ffn")), "inner") end)
    x = linear(w, x)
    x = stack("g", m.layers, x, function(x) return x + linear("down", gelu(linear("up", x, "ffn")), "width") end)
    return cross_entropy(linear("head", linear(w, x), "vocab"), targets)
  end,
}
-- >>> expected
-- tp 2, whole norms: degrees: parameter 'w' is used in two ways that ranks share differently; its gradients cannot be summed
-- tp 2, whole norms: degrees: parameter 'w' is used in two ways that ranks share differently; its gradients cannot be summed
