return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel = { dp = 4 },
}
-- >>> exit 1
job.lua:6:21: error[degrees]: dp 4 is not 1 node x 1 device = 1
    6 |   parallel = { dp = 4 },
      |                     ^
        fix: cluster = { "here", devices = 4 }
    note: each rank is some threads of this machine
