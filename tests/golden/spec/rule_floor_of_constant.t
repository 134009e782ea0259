return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  schedule = { warmup = 5, floor = 0.1 },
}
-- >>> exit 1
job.lua:6:36: error[conflict]: schedule.floor is for linear, cosine, wsd and
    polynomial; schedule is "constant"
    6 |   schedule = { warmup = 5, floor = 0.1 },
      |                                    ^~~
        fix: remove floor
