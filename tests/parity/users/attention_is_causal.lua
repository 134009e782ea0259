return model {
  sizes = { width = 16, heads = 2, head = 8, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    local q = linear("q", x, { "heads", "head" })
    x = x + linear("o", attention(q, q, q, { is_causal = true, dropout_p = 0.1, causal = "yes" }), "width")
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- attention_is_causal.lua:8:25: error[unknown-option]: attention: no option
--     'dropout_p'; it has causal, dropout, scale, softcap, window
--     8 |     x = x + linear("o", attention(q, q, q, { is_causal = true, dropout_p = 0.1, causal = "
--       |                         ^~~~~~~~~
--         fix: dropout = ...
-- attention_is_causal.lua:8:25: error[unknown-option]: attention: no option
--     'is_causal'; it has causal, dropout, scale, softcap, window
--     8 |     x = x + linear("o", attention(q, q, q, { is_causal = true, dropout_p = 0.1, causal = "
--       |                         ^~~~~~~~~
--         fix: causal = ...
