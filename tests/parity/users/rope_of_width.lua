return model {
  sizes = { width = 16, heads = 2, head = 8, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = rope(embedding("wte", tokens, { "vocab", "width" }))
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- rope_of_width.lua:6:15: error[rope-shape]: rope: expected features [heads,
--     head], got [width]
--     6 |     local x = rope(embedding("wte", tokens, { "vocab", "width" }))
--       |               ^~~~
