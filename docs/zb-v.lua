-- The same with two chunks of layers a stage, the second on the way back.
return job { "./pipeline.lua", parallel = { pipeline = "zb-v" } }
