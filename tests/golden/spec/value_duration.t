return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  checkpoint = { every = "30 minutes" },
}
-- >>> exit 1
job.lua:6:26: error[unit]: checkpoint.every: expected "30m", "500 steps", "auto"
    or "never"; got "30 minutes"
    6 |   checkpoint = { every = "30 minutes" },
      |                          ^~~~~~~~~~~~
        fix: every = "30m"
