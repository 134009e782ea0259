return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  schedule = { "cosine", over = "10%" },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:5:33: error[wrong-type]: schedule.over counts steps, not a share of the
    run; got "10%"
    5 |   schedule = { "cosine", over = "10%" },
      |                                 ^~~~~
        fix: over = 1
