-- RUN: check job.lua --no-data
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 100 },
  optimizer = { "adamw", lr = 1e-3 },
  schedule = { "wsd", over = 200 },
}
-- >>> exit 0
job.lua:6:30: lint[schedule-length]: wsd decays from step 181 on, and the run
    has 100 steps: lr never falls
    6 |   schedule = { "wsd", over = 200 },
      |                              ^~~
        fix: over = 100
job.lua: right
