return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "128 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", nodes = 4, devices = 8 },
  parallel = { tp = 2, pp = 8, shard = "hybrid" },
}
-- >>> exit 1
job.lua:7:40: error[zero-group]: zero_group = "node": the devices of a node are
    not whole replicas: 8 devices, tp 2 x cp 1 x pp 8
    7 |   parallel = { tp = 2, pp = 8, shard = "hybrid" },
      |                                        ^~~~~~~~
        fix: shard = "full"
    note: a group may be 2 of the dp 2 x cp 1 ranks
