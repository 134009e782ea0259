-- Azure ND A100 v4: eight A100 40GB on NVLink 3, one 200 Gb/s InfiniBand port a GPU. 96 cores (learn.microsoft.com,
-- ND A100 v4-series, with 6,000 GiB of disks; ndv4-topo.xml of github.com/Azure/azhpc-images).
return { "dgx-a100", device = "a100-sxm-40", cores = 96, host = "900GiB", disk = "6000GiB" }
