return model { sizes = { inputs = 8 } }
-- >>> expected
-- no_forward.lua:1:8: error[not-a-model]: a model is { "family", ... } or has
--     forward = function(m) ... end
--     1 | return model { sizes = { inputs = 8 } }
--       |        ^~~~~
