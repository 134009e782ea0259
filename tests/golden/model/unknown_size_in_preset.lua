return model {
  "gpt2",
  layer = 12,
  width = 768, heads = "12",
}
-- >>> expected
-- unknown_size_in_preset.lua:3:3: error[unknown-size]: model.layer: no such size;
--     did you mean 'layers'?
--     3 |   layer = 12,
--       |   ^~~~~
--         fix: layers = 12
-- unknown_size_in_preset.lua:4:16: error[wrong-size]: model.heads: expected a
--     number; got "12"
--     4 |   width = 768, heads = "12",
--       |                ^~~~~
