return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 250 },
  optimizer = { "adamw", lr = 1e-3 },
  schedule = { "cosine", warmup = 0.1 },
}
-- >>> exit 1
job.lua:6:35: error[unit]: schedule.warmup counts steps, or says its share of
    them in %; got 0.1
    6 |   schedule = { "cosine", warmup = 0.1 },
      |                                   ^~~
        fix: warmup = "10%"
