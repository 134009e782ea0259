return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  schedule = { "cosine", warmup = 2000 },
}
-- >>> exit 1
job.lua:6:35: error[conflict]: warmup of 2000 steps is longer than the run, 10
    steps
    6 |   schedule = { "cosine", warmup = 2000 },
      |                                   ^~~~
        fix: warmup = 1
