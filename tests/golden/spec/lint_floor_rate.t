return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  schedule = { "cosine", floor = 3e-5 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
job.lua:5:34: lint[learning-rate]: schedule.floor is a fraction of lr: 3e-05 of
    0.001 is 3e-08, where decay ends
    5 |   schedule = { "cosine", floor = 3e-5 },
      |                                  ^~~~
        fix: floor = 0.03
    note: that is 3e-05 as a rate
job.lua: right
