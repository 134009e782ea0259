-- Racks of GB200 or GB300 NVL72 under topology/block: 18 nodes of four GPUs share one NVLink domain.
return {
  block = 18,
  version = "24.05",
  sbatch = { exclusive = "topo", mem = "0" },
  env = { NCCL_MNNVL_ENABLE = 1, NCCL_NVLS_ENABLE = 1, NCCL_IB_HCA = "mlx5" },
}
