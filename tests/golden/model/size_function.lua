return model {
  sizes = { width = 64, ffn = function(m) return { m.width } end },
  forward = function(m) end,
}
-- >>> expected
-- size_function.lua:2:25: error[wrong-size]: sizes.ffn: the function returns a
--     number, true or false, or a text; this one a table
--     2 |   sizes = { width = 64, ffn = function(m) return { m.width } end },
--       |                         ^~~
