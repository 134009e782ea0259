return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { tp = 4, pp = 4 },
}
-- >>> exit 1
job.lua:7:21: error[degrees]: tp 4 x cp 1 x pp 4 = 16 does not divide 1 node x 8
    devices = 8 ranks; tp may be 1 2
    7 |   parallel = { tp = 4, pp = 4 },
      |                     ^
        fix: tp = 2
    note: or pp may be 1 2
    job.lua:6:33: note: 8 devices a node here
