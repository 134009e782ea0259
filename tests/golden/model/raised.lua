return model {
  sizes = { inputs = 8 },
  forward = function(m)
    m.inputs = 3
  end,
}
-- >>> expected
-- raised.lua:4:5: error[global]: m.inputs: sizes are not changed while the model
--     is read
--     4 |     m.inputs = 3
--       |     ^
