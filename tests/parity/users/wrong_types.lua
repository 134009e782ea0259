return model {
  sizes = { width = 16, heads = 2, head = 8, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, true)
    local x = embedding("wte", tokens, { "vocab", "width" }) + relu("x")
    x = dropout(x, "0.1") + rmsnorm("n", x, { eps = "small" }) + layernorm(7, x)
    x = linear("a", x, { "width", 3 }) + linear("b", x, true) + linear("c", x, "width", { bias = 1 })
    local q = rope(linear("q", x, { "heads", "head" }), { base = "10k" })
    x = x + linear("o", attention(q, q, 5, { scale = "auto" }), "width")
    x = stack("h", "2", x, function(x) return x end)
    x = stack("g", 2, x, relu(x))
    return cross_entropy(linear("head", x, "vocab"), 3)
  end,
}
-- >>> expected
-- wrong_types.lua:5:21: error[wrong-option]: input: argument 3 is "ids" or absent;
--     got true
--     5 |     local targets = input("targets", { "batch", "seq" }, true)
--       |                     ^~~~~
--         fix: "ids"
-- wrong_types.lua:6:64: error[not-a-value]: relu: argument 1 is a value; got the
--     text "x"
--     6 | "wte", tokens, { "vocab", "width" }) + relu("x")
--       |                                        ^~~~
--         fix: relu(x)
-- wrong_types.lua:10:25: error[not-a-value]: attention: argument 3 is a value; got
--     the number 5
--    10 |     x = x + linear("o", attention(q, q, 5, { scale = "auto" }), "width")
--       |                         ^~~~~~~~~
-- wrong_types.lua:11:9: error[wrong-size]: stack: argument 2 is how many layers, 1
--     to 1,000,000; got the text "2"
--    11 |     x = stack("h", "2", x, function(x) return x end)
--       |         ^~~~~
-- wrong_types.lua:13:12: error[not-a-value]: cross_entropy: argument 2 is a value;
--     got the number 3
--    13 |     return cross_entropy(linear("head", x, "vocab"), 3)
--       |            ^~~~~~~~~~~~~
