return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e3 },
}
-- >>> exit 0
job.lua:5:31: lint[learning-rate]: optimizer.lr = 1000: adamw diverges far
    below; usual rates are 1e-5 to 1e-2
    5 |   optimizer = { "adamw", lr = 1e3 },
      |                               ^~~
        fix: lr = 6e-4
job.lua: right
