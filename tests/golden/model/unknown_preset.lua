return model { "gpt-2", layers = 12 }
-- >>> expected
-- unknown_preset.lua:1:8: error[unknown-preset]: no model is named 'gpt-2'; did
--     you mean 'gpt2'?
--     1 | return model { "gpt-2", layers = 12 }
--       |        ^~~~~
--         fix: "gpt2"
