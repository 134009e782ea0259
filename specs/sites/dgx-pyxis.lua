-- DGX nodes with InfiniBand, containers by pyxis and enroot: one HCA a GPU, names as DGX OS gives them. Put your image in
-- slurm.container.
return {
  container_by = "pyxis",
  mounts = { "/dev/shm:/dev/shm" },
  sbatch = { exclusive = true, mem = "0" },
  srun = { ["no-container-mount-home"] = true },
  env = {
    NCCL_IB_HCA = "mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11",
    NCCL_SOCKET_IFNAME = "enp170s0f0np0",
    NCCL_IB_TIMEOUT = 22,
    UCX_TLS = "rc,sm,self",
  },
}
