return { sizes = { inputs = 8 } }
-- >>> expected
-- not_a_model.lua: error[not-a-model]: the file returns a model; this one returns
--     table
--         fix: return model { ... }
