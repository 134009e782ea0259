return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", nodes = 256 },
  parallel = { tp = 7, pp = 16 },
}
-- >>> exit 1
job.lua:7:21: error[degrees]: tp 7 x cp 1 x pp 16 = 112 does not divide 256
    nodes x 8 devices = 2048 ranks; tp may be 1 2 4 8 16 32 64 128
    7 |   parallel = { tp = 7, pp = 16 },
      |                     ^
        fix: tp = 8
    job.lua:6:35: note: 256 nodes here
    SPECS/clusters/dgx-h100.lua:6:31: note: 8
    devices a node here
