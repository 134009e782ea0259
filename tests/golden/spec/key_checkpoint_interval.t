return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  checkpoint = { interval = 100 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:5:18: error[unknown-key]: checkpoint.interval: no such key; that is
    checkpoint.every here, in "N steps"
    5 |   checkpoint = { interval = 100 },
      |                  ^~~~~~~~
        fix: checkpoint = { every = "100 steps" }
