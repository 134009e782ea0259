return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 100 },
  optimizer = { "adamw", lr = 1e-3 },
  schedule = { "wsd", warmup = 10, decay = 95 },
}
-- >>> exit 1
job.lua:6:44: error[conflict]: warmup and decay, 10 + 95 steps, are longer than
    the run, 100 steps
    6 |   schedule = { "wsd", warmup = 10, decay = 95 },
      |                                            ^~
        fix: decay = 10
