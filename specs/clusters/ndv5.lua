-- Azure ND H100 v5: eight H100 on NVLink 4, one 400 Gb/s InfiniBand port a GPU. 96 cores (learn.microsoft.com,
-- ND-H100-v5 size series, with 8 disks of 3.5 TB; ndv5-topo.xml of github.com/Azure/azhpc-images).
return { "dgx-h100", cores = 96, host = "1900GiB", disk = "28TB" }
