return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { tp = 2, dp = 8 },
}
-- >>> exit 1
job.lua:7:29: error[degrees]: dp 8 is not 8 ranks / (tp 2 x cp 1 x pp 1) = 4
    7 |   parallel = { tp = 2, dp = 8 },
      |                             ^
        fix: dp = 4
    note: 8 replicas on one machine: cluster = { "here", devices = 16 }
