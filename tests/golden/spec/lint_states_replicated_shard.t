-- RUN: check job.lua --no-data
return job {
  accept = { "small-microbatch" },
  model = { "gpt2", layers = 60, width = 2048, heads = 16 },
  data = "synthetic",
  train = { batch = "64 sequences", microbatch = 1, steps = 1000 },
  optimizer = { "adamw", lr = 6e-4 },
  parallel = { shard = "none" },
  cluster = { "dgx-h100", nodes = 1 },
}
-- >>> exit 0
job.lua:7:24: lint[states-replicated]: weights, gradients and states, 56.3 GB,
    are 68 % of what a rank may use, and each of 8 replicas has all of them:
    zero = 1 divides the states
    7 |   parallel = { shard = "none" },
      |                        ^~~~~~
        fix: remove shard
job.lua: right
