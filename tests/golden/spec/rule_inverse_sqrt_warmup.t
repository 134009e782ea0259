return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 100 },
  optimizer = { "adamw", lr = 1e-3 },
  schedule = "inverse_sqrt",
}
-- >>> exit 1
job.lua:6:14: error[conflict]: inverse_sqrt is lr sqrt(warmup / step): without
    warmup, lr is halved by step 4
    6 |   schedule = "inverse_sqrt",
      |              ^~~~~~~~~~~~~~
        fix: warmup = 10
