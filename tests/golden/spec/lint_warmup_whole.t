return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  schedule = { "cosine", warmup = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
job.lua:5:35: lint[schedule-length]: warm-up takes all of the schedule, 10
    steps: lr rises and never decays
    5 |   schedule = { "cosine", warmup = 10 },
      |                                   ^~
        fix: warmup = 1
job.lua: right
