return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  checkpoint = { every = 500 },
}
-- >>> exit 1
job.lua:6:26: error[unit]: checkpoint.every says its unit; got 500
    6 |   checkpoint = { every = 500 },
      |                          ^~~
        fix: every = "500 steps"
