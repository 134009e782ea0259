return model { "./preset_cycle.lua", layers = 2 }
-- >>> expected
-- preset_cycle.lua:1:8: error[preset-cycle]: 'preset_cycle' starts from
--     './preset_cycle.lua', which never ends in a family
--     1 | return model { "./preset_cycle.lua", layers = 2 }
--       |        ^~~~~
