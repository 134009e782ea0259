return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { shard = "zero3" },
}
-- >>> exit 1
job.lua:7:24: error[unknown-word]: parallel.shard: "zero3" is not one of: none
    grad_op full hybrid
    7 |   parallel = { shard = "zero3" },
      |                        ^~~~~~~
        fix: remove shard
