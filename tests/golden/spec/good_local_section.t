local p = { batch = "8 sequences", steps = 2^3 }
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = p,
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
job.lua: right
