-- RUN: check job.lua --no-data --strict
return job {
  accept = { "few-layers", "imbalance" },
  model = { "gpt2", layers = 12, width = 768, heads = 12 },
  data = "synthetic",
  train = { batch = "64 sequences", microbatch = 1, steps = 1000 },
  optimizer = { "adamw", lr = 6e-4 },
  parallel = { pp = 4 },
  cluster = { "dgx-h100", nodes = 1, devices = 4 },
}
-- >>> exit 0
lockstep: job.accept: imbalance is not said of this job
job.lua: right
