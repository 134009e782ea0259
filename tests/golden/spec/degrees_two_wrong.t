return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { tp = 3, cp = 5 },
}
-- >>> exit 1
job.lua:7:21: error[degrees]: tp 3 x cp 5 x pp 1 = 15 does not divide 1 node x 8
    devices = 8 ranks
    7 |   parallel = { tp = 3, cp = 5 },
      |                     ^
        fix: tp = 4, cp = 2
    job.lua:6:33: note: 8 devices a node here
