return job {
  model = "gpt2-124m",
  data = "synthetic",
  train = { batch = "64 sequences", microbatch = 1, steps = 1000 },
  optimizer = { "adamw", lr = 6e-4 },
  cluster = { "dgx-h100", nodes = 1 },
  slurm = { env = { NCCL_ALGO = "Ring", NCCL_P2P_DISABLE = 0, NCCL_SHM_DISABLE = 1 } },
}
-- >>> exit 0
job.lua:7:19: lint[nccl-forced]: slurm.env: NCCL_ALGO = Ring: one algorithm for
    all sizes
    7 |   slurm = { env = { NCCL_ALGO = "Ring", NCCL_P2P_DISABLE = 0, NCCL_SHM_DISABLE = 1 } },
      |                   ^
        fix: remove NCCL_ALGO
job.lua:7:19: lint[nccl-forced]: slurm.env: NCCL_SHM_DISABLE = 1: GPUs of a
    node no longer use shared memory
    7 |   slurm = { env = { NCCL_ALGO = "Ring", NCCL_P2P_DISABLE = 0, NCCL_SHM_DISABLE = 1 } },
      |                   ^
        fix: remove NCCL_SHM_DISABLE
job.lua: right
