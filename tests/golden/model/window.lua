return model {
  sizes = { width = 8, heads = 2, head = 4, vocab = 16 },
  forward = function(m)
    local ids = input("tokens", { "batch", "seq" }, "ids")
    local x = embedding("e", ids, { "vocab", "width" })
    local q = linear("q", x, { "heads", "head" })
    local a = attention(q, q, q, { window = 4 })
    local b = attention(q, q, q, { causal = true, window = 2.5 })
    local c = attention(q, q, q, { causal = true, window = -1 })
    local d = attention(q, q, q, { causal = true, softcap = -3 })
    local e = attention(q, q, q, { causal = true, window = 0, softcap = 0 })
    return cross_entropy(linear("head", e, "vocab"), input("targets", { "batch", "seq" }, "ids"))
  end,
}
-- >>> expected
-- window.lua:7:15: error[wrong-option]: attention: window is for causal attention:
--     it is the last of the tokens that a token sees; got 4
--     7 |     local a = attention(q, q, q, { window = 4 })
--       |               ^~~~~~~~~
--         fix: window = 4096, causal = true
-- window.lua:8:15: error[wrong-option]: attention: window is a whole number of
--     tokens, the last one counted, or 0 for all; got 2.5
--     8 |     local b = attention(q, q, q, { causal = true, window = 2.5 })
--       |               ^~~~~~~~~
--         fix: window = 4096, causal = true
-- window.lua:9:15: error[wrong-option]: attention: window is a whole number of
--     tokens, the last one counted, or 0 for all; got -1
--     9 |     local c = attention(q, q, q, { causal = true, window = -1 })
--       |               ^~~~~~~~~
--         fix: window = 4096, causal = true
-- window.lua:10:15: error[wrong-option]: attention: softcap is the limit of
--     scores, above 0, or 0 for none; got -3
--    10 |     local d = attention(q, q, q, { causal = true, softcap = -3 })
--       |               ^~~~~~~~~
--         fix: softcap = 50
