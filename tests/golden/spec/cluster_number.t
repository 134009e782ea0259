return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  cluster = 8,
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:5:13: error[wrong-type]: cluster is a table of keys, or a word: cluster
    = { ... }; got 8
    5 |   cluster = 8,
      |             ^
        fix: cluster = { "here", devices = 8 }
