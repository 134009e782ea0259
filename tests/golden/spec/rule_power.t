return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 100 },
  optimizer = { "adamw", lr = 1e-3 },
  schedule = { "polynomial", power = 0 },
}
-- >>> exit 1
job.lua:6:38: error[range]: schedule.power is above 0 to 100; got 0
    6 |   schedule = { "polynomial", power = 0 },
      |                                      ^
        fix: power = 1
