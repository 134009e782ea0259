return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", lr = 1e-3, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  seed = 5,
}
-- >>> exit 1
job.lua:4:36: error[unknown-key]: train.lr: no such key; section optimizer has
    it
    4 |   train = { batch = "8 sequences", lr = 1e-3, steps = 10 },
      |                                    ^~
        fix: optimizer = { lr = 0.001 }
job.lua:6:3: error[unknown-section]: seed: no such section; section train has it
    6 |   seed = 5,
      |   ^~~~
        fix: train = { seed = 5 }
2 errors
