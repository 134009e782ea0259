-- HPE Cray EX with Slingshot (cxi): libfabric's provider cxi below NCCL's plug-in; GPUs are asked for by gres.
return {
  gpus = "gres",
  modules = { "PrgEnv-gnu", "cray-mpich", "craype-accel-nvidia80" },
  sbatch = { constraint = "gpu", exclusive = true },
  srun = { network = "single_node_vni,job_vni" },
  env = {
    FI_PROVIDER = "cxi",
    FI_CXI_DISABLE_HOST_REGISTER = 1,
    FI_MR_CACHE_MONITOR = "userfaultfd",
    NCCL_NET = "AWS Libfabric",
    NCCL_SOCKET_IFNAME = "hsn0,hsn1,hsn2,hsn3",
    NCCL_CROSS_NIC = 1,
    MPICH_GPU_SUPPORT_ENABLED = 1,
  },
}
