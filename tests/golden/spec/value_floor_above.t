return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  schedule = { "cosine", floor = 3 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:5:34: error[range]: schedule.floor is a fraction of lr, 0 to 1; got 3
    5 |   schedule = { "cosine", floor = 3 },
      |                                  ^
