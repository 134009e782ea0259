-- RUN: check job.lua --no-data --strict
return job {
  accept = { "small-microbatch" },
  model = { "gpt2", layers = 52, width = 2048, heads = 16 },
  data = "synthetic",
  train = { batch = "64 sequences", microbatch = 1, steps = 1000 },
  optimizer = { "adamw", lr = 6e-4 },
  parallel = { zero = 0 },
  cluster = { "dgx-h100", nodes = 1 },
}
-- >>> exit 0
job.lua: right
