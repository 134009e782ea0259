return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  schedule = { "cosine", over = 5 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
job.lua:5:33: lint[schedule-length]: lr is 0 from step 6 on: the last 5 of 10
    steps train nothing
    5 |   schedule = { "cosine", over = 5 },
      |                                 ^
        fix: over = 10
    note: or train on at a part of lr: floor = 0.1
job.lua: right
