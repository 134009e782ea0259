-- RUN: check job.lua --no-data --strict
return job {
  accept = { "few-layers", "warmup-short", "nccl-forced", "nccl-ib-disable", "imbalance" },
  model = { "gpt2", layers = 8, width = 768, heads = 12 },
  data = "synthetic",
  train = { batch = "256 sequences", microbatch = 1, steps = 1000 },
  optimizer = { "adamw", lr = 6e-4 },
  schedule = { "cosine", warmup = 19 },
  parallel = { pp = 4 },
  cluster = { "dgx-h100", nodes = 1, devices = 4 },
  slurm = { env = { NCCL_IB_DISABLE = 1, NCCL_ALGO = "Ring" } },
}
-- >>> exit 0
job.lua: right
