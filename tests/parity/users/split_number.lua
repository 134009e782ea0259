return model {
  sizes = { width = 16, qkv = 3, heads = 4, head = 4, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    local q, k, v = split(linear("qkv", x, { "qkv", "heads", "head" }), 3, "dim")
    x = x + linear("o", attention(q, k, v, { causal = true }), "width")
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- split_number.lua:7:21: error[extra-argument]: split(x, name) takes 2 arguments;
--     argument 3 is the text "dim"
--     7 |     local q, k, v = split(linear("qkv", x, { "qkv", "heads", "head" }), 3, "dim")
--       |                     ^~~~~
--         fix: split(x, name)
-- split_number.lua:7:21: error[not-a-name]: split: argument 2 is a name, e.g.
--     "attn.c_proj"; got the number 3
--     7 |     local q, k, v = split(linear("qkv", x, { "qkv", "heads", "head" }), 3, "dim")
--       |                     ^~~~~
