return model {
  sizes = { inputs = 8, hidden = 4 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local h = stack("a", 3, x, function(h) return linear("up", h, "hidden") end)
    h = stack("b", 3, h, function(h) linear("lost", h, "inputs") end)
    h = stack("c", 3, h, function(h) return h end)
    h = stack("d", 3, h, function(h) return x end)
    return mse(h, x)
  end,
}
-- >>> expected
-- block_shape.lua:5:15: error[block-shape]: stack 'a': a block takes [batch,
--     inputs] but returns [batch, hidden]; it must return what it takes
--     5 |     local h = stack("a", 3, x, function(h) return linear("up", h, "hidden") end)
--       |               ^~~~~
-- block_shape.lua:6:9: error[block-shape]: stack 'b': a block takes [batch,
--     inputs] but returns nothing; it must return what it takes
--     6 |     h = stack("b", 3, h, function(h) linear("lost", h, "inputs") end)
--       |         ^~~~~
-- block_shape.lua:7:9: error[block-shape]: stack 'c': a block returns what it
--     took, unchanged
--     7 |     h = stack("c", 3, h, function(h) return h end)
--       |         ^~~~~
-- block_shape.lua:8:9: error[block-shape]: stack 'd': a block returns [batch,
--     inputs], which it did not make
--     8 |     h = stack("d", 3, h, function(h) return x end)
--       |         ^~~~~
