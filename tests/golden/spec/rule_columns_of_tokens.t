return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { "synthetic", columns = { x = "a" } },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:35: error[conflict]: data.columns is for table; data is "synthetic"
    3 |   data = { "synthetic", columns = { x = "a" } },
      |                                   ^
        fix: remove columns
