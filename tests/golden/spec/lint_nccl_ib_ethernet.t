-- RUN: check job.lua --no-data --strict
return job {
  model = "gpt2-124m",
  data = "synthetic",
  train = { batch = "64 sequences", microbatch = 1, steps = 1000 },
  optimizer = { "adamw", lr = 6e-4 },
  cluster = { "dgx-h100", nodes = 2, network = "ethernet" },
  slurm = { env = { NCCL_IB_DISABLE = 1, NCCL_NET = "Socket" } },
}
-- >>> exit 0
job.lua: right
