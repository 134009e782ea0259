return model {
  sizes = { width = 16, heads = 4, head = 4, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = linear("q", embedding("wte", tokens, { "vocab", "width" }), { "heads", "head" })
    x = rope(x, { factor = 8 }) + rope(x, { factor = 0 }) + rope(x, { rope_scaling = "llama3" })
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> expected
-- rope_scaled_wrongly.lua:7:9: error[rope-scaling]: rope: factor is 1 or more, 0 <
--     low_freq < high_freq, and original_positions 1 or more; got factor 8,
--     low_freq 1, high_freq 4, original_positions 0
--     7 |     x = rope(x, { factor = 8 }) + rope(x, { factor = 0 }) + rope(x, { rope_scaling = "llam
--       |         ^~~~
-- rope_scaled_wrongly.lua:7:9: error[rope-scaling]: rope: factor is 1 or more; got
--     0
--     7 |     x = rope(x, { factor = 8 }) + rope(x, { factor = 0 }) + rope(x, { rope_scaling = "llam
--       |         ^~~~
--         fix: factor = 1
-- rope_scaled_wrongly.lua:7:9: error[unknown-option]: rope: no option
--     'rope_scaling'; it has base, factor, low_freq, high_freq, original_positions
--     7 |     x = rope(x, { factor = 8 }) + rope(x, { factor = 0 }) + rope(x, { rope_scaling = "llam
--       |         ^~~~
