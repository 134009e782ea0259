-- AWS ParallelCluster with EFA (p4d, p5): libfabric's provider efa below NCCL's plug-in, RDMA from GPU memory.
return {
  partition = "gpu",
  modules = { "libfabric-aws" },
  sbatch = { exclusive = true },
  env = {
    FI_PROVIDER = "efa",
    FI_EFA_USE_DEVICE_RDMA = 1,
    FI_EFA_FORK_SAFE = 1,
    NCCL_SOCKET_IFNAME = "^lo,docker",
    LD_LIBRARY_PATH = "/opt/amazon/ofi-nccl/lib:/opt/amazon/efa/lib64",
  },
}
