return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { tp = 8, shard = "full" },
}
-- >>> exit 1
job.lua:7:32: error[conflict]: zero 3 shares states between the ranks of dp 1 x
    cp 1, and that is one rank
    7 |   parallel = { tp = 8, shard = "full" },
      |                                ^~~~~~
        fix: remove shard
