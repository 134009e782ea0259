return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 0 },
}
-- >>> exit 0
job.lua:5:31: lint[learning-rate]: optimizer.lr is 0: no parameter changes
    5 |   optimizer = { "adamw", lr = 0 },
      |                               ^
        fix: lr = 6e-4
job.lua: right
