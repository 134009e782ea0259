return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10, optimizer = { lr = 1 } },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:68: error[unknown-key]: train.optimizer: no such key; optimizer is a
    section, which goes beside train, not in it
    4 | equences", microbatch = 2, steps = 10, optimizer = { lr = 1 } },
      |                                        ^~~~~~~~~
        fix: job { optimizer = { lr = 1 } }
