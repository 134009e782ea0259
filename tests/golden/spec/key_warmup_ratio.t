return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  schedule = { "cosine", warmup_ratio = 0.1 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:5:26: error[unknown-key]: schedule.warmup_ratio: no such key; that is
    schedule.warmup here, as a share of the steps
    5 |   schedule = { "cosine", warmup_ratio = 0.1 },
      |                          ^~~~~~~~~~~~
        fix: schedule = { warmup = "10%" }
