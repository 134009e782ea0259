return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 100 },
  optimizer = { "adamw", lr = 1e-3 },
  schedule = { "wsd", decay = 101 },
}
-- >>> exit 1
job.lua:6:31: error[conflict]: decay of 101 steps is longer than the run, 100
    steps
    6 |   schedule = { "wsd", decay = 101 },
      |                               ^~~
        fix: decay = 10
