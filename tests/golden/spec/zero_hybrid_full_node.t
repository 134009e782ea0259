return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", nodes = 2, devices = 8 },
  parallel = { tp = 8, shard = "hybrid" },
}
-- >>> exit 1
job.lua:7:32: error[zero-group]: zero_group = "node": a node holds one rank of
    dp x cp, so there is no other to share with: 8 devices, tp 8 x cp 1 x pp 1
    7 |   parallel = { tp = 8, shard = "hybrid" },
      |                                ^~~~~~~~
        fix: shard = "full"
    note: a group may be 2 of the dp 2 x cp 1 ranks
