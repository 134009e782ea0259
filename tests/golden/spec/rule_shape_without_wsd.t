return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 100 },
  optimizer = { "adamw", lr = 1e-3 },
  schedule = { "cosine", shape = "sqrt" },
}
-- >>> exit 1
job.lua:6:34: error[conflict]: schedule.shape is for wsd; schedule is "cosine"
    6 |   schedule = { "cosine", shape = "sqrt" },
      |                                  ^~~~~~
        fix: remove shape
