-- A block returns one value; what follows it would be dropped.
return model {
  sizes = { layers = 2, width = 8 },
  forward = function(m)
    local x = input("x", { "batch", "width" })
    local h = stack("two", m.layers, x, function(x) return x + linear("a", x, "width"), x end)
    h = stack("none", m.layers, h, function(x) linear("b", x, "width") end)
    return mse(h, x)
  end,
}
-- >>> expected
-- block_several.lua:6:15: error[block-shape]: stack 'two': a block takes [batch,
--     width] but returns several values; it must return what it takes
--     6 |     local h = stack("two", m.layers, x, function(x) return x + linear("a", x, "width"), x 
--       |               ^~~~~
-- block_several.lua:7:9: error[block-shape]: stack 'none': a block takes [batch,
--     width] but returns nothing; it must return what it takes
--     7 |     h = stack("none", m.layers, h, function(x) linear("b", x, "width") end)
--       |         ^~~~~
