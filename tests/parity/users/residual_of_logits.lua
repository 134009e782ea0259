return model {
  sizes = { width = 16, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    local l = linear("head", x, "vocab")
    return cross_entropy(l + linear("more", gelu(l), "vocab"), targets)
  end,
}
-- >>> expected
-- tp 2: degrees: parallel.tp = 2 cuts 'vocab', and parameter 'more.weight' has it on both sides
-- tp 2, whole norms: degrees: parallel.tp = 2 cuts 'vocab', and parameter 'more.weight' has it on both sides
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
