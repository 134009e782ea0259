return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  parallel = { tp = 2, pp = 2 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:5:21: error[degrees]: tp 2 x cp 1 x pp 2 = 4 does not divide 1 node x 1
    device = 1 rank
    5 |   parallel = { tp = 2, pp = 2 },
      |                     ^
        fix: cluster = { "here", devices = 4 }
    note: each rank is some threads of this machine
