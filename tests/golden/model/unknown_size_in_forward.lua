return model {
  sizes = { inputs = 8 },
  forward = function(m) return m.input end,
}
-- >>> expected
-- unknown_size_in_forward.lua:3:33: error[unknown-size]: m.input: no such size;
--     did you mean 'inputs'?
--     3 |   forward = function(m) return m.input end,
--       |                                 ^
--         fix: m.inputs
