return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { zero = 3, shard = "full" },
}
-- >>> exit 1
job.lua:7:34: error[conflict]: parallel.shard is another word for zero; zero = 3
    is set, too
    7 |   parallel = { zero = 3, shard = "full" },
      |                                  ^~~~~~
        fix: remove shard
