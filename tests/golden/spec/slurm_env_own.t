-- RUN: sbatch job.lua --no-data
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  slurm = { time = "24h",
    env = { NCCL_IB_TIMEOUT = "22s", NCCL_DEBUG = "LOUD", NCCL_P2P_LEVEL = "nvl", step = "x", UID = 1 } },
}
-- >>> exit 1
job.lua:7:11: error[slurm-env]: slurm.env: NCCL reads NCCL_IB_TIMEOUT as a whole
    number; got "22s"
    7 |     env = { NCCL_IB_TIMEOUT = "22s", NCCL_DEBUG = "LOUD", NCCL_P2P_LEVEL = "nvl", step = "
      |           ^
job.lua:7:11: error[slurm-env]: slurm.env: NCCL_DEBUG is one of NONE VERSION
    WARN INFO ABORT TRACE; got "LOUD"
    7 |     env = { NCCL_IB_TIMEOUT = "22s", NCCL_DEBUG = "LOUD", NCCL_P2P_LEVEL = "nvl", step = "
      |           ^
job.lua:7:11: error[slurm-env]: slurm.env: NCCL_P2P_LEVEL is one of LOC NVL NVB
    C2C PIX PXB P2C PXN PHB SYS 0 1 2 3 4 5; got "nvl"
    7 |     env = { NCCL_IB_TIMEOUT = "22s", NCCL_DEBUG = "LOUD", NCCL_P2P_LEVEL = "nvl", step = "
      |           ^
job.lua:7:11: error[slurm-env]: slurm.env: the script needs UID for itself;
    slurm.wrap = { "env", "UID=..." } sets it for the ranks
    7 |     env = { NCCL_IB_TIMEOUT = "22s", NCCL_DEBUG = "LOUD", NCCL_P2P_LEVEL = "nvl", step = "
      |           ^
job.lua:7:11: error[slurm-env]: slurm.env: the script needs step for itself;
    slurm.wrap = { "env", "step=..." } sets it for the ranks
    7 |     env = { NCCL_IB_TIMEOUT = "22s", NCCL_DEBUG = "LOUD", NCCL_P2P_LEVEL = "nvl", step = "
      |           ^
5 errors
