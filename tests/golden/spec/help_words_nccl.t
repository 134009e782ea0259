-- RUN: help NCCL_IB_DISABLE
-- >>> exit 0
NCCL_IB_DISABLE, a variable of the environment: a job sets it in slurm.env; 1
    keeps NCCL off InfiniBand and RoCE: sockets then carry everything between
    nodes
    slurm = { env = { NCCL_IB_DISABLE = ... } }
