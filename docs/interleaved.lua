-- The same with two chunks of layers a stage.
return job { "./pipeline.lua", parallel = { pipeline = { "interleaved", chunks = 2 } } }
