return model {
  sizes = { width = 16, two = 2, ffn = 8, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    local a, b, c = split(linear("qkv", x, { "two", "ffn" }), "two")
    return cross_entropy(linear("head", a + b * c, "vocab"), targets)
  end,
}
-- >>> expected
-- split_too_many_taken.lua:8:47: error[not-a-value]: multiply: argument 2 is a
--     value; got nil
--     8 |     return cross_entropy(linear("head", a + b * c, "vocab"), targets)
--       |                                               ^
