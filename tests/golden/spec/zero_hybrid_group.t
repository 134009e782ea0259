return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { shard = "hybrid", zero_group = 4 },
}
-- >>> exit 1
job.lua:7:24: error[conflict]: shard = "hybrid" is zero = 3 with zero_group =
    "node"; zero_group is set, too
    7 |   parallel = { shard = "hybrid", zero_group = 4 },
      |                        ^~~~~~~~
        fix: zero = 3
