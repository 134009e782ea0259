-- RUN: check job.lua --no-data
return job {
  model = "gpt2-124m",
  data = "synthetic",
  train = { batch = "64 sequences", microbatch = 1, steps = 1000 },
  optimizer = { "adamw", lr = 6e-4 },
  cluster = { "dgx-h100", nodes = 2 },
  slurm = { env = { NCCL_IB_DISABLE = 1, NCCL_NET = "socket" } },
}
-- >>> exit 0
job.lua:7:19: lint[nccl-ib-disable]: slurm.env: NCCL_IB_DISABLE = 1: nodes
    exchange over TCP, not over InfiniBand
    7 |   slurm = { env = { NCCL_IB_DISABLE = 1, NCCL_NET = "socket" } },
      |                   ^
        fix: remove NCCL_IB_DISABLE
job.lua:7:19: lint[nccl-ib-disable]: slurm.env: NCCL_NET = socket: nodes
    exchange over TCP, not over the fabric of cluster.network
    7 |   slurm = { env = { NCCL_IB_DISABLE = 1, NCCL_NET = "socket" } },
      |                   ^
        fix: remove NCCL_NET
job.lua: right
