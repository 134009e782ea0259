return job { "./lib/base.lua" }
-- FILE: lib/base.lua
return job {
  model = "./small.lua",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- FILE: lib/small.lua
return model { "gpt2", layers = 1, width = 16, heads = 2, vocab = 64, positions = 16 }
-- >>> exit 0
job.lua: right
