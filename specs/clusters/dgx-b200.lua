-- NVIDIA DGX B200: eight GPUs on NVLink 5, one 400 Gb/s InfiniBand port a GPU. Rates are one way, per GPU
-- (DGX B200 User Guide: 2 x Xeon 8570 of 56 cores, 8 ConnectX-7, 14.4 TB/s of NVSwitch both ways).
-- Memory of the processors: 2 TB (DGX B200 User Guide), DDR5-5600 on 8 channels of each of two.
-- Latencies are those of dgx-h100.
-- Disks: 8 x 3.84 TB NVMe as RAID 0, /raid (DGX B200 User Guide); 7 and 4 GB/s each, what a disk on PCIe 4.0 x4 reads and writes.
return { nodes = 1, devices = 8, device = "b200", cores = 112, intra = "900GB/s", inter = "400Gb/s",
         intra_latency = "470ns", inter_latency = "2.7us", host = "2TiB", host_bandwidth = "716GB/s",
         disk = "30.7TB", disk_read = "56GB/s", disk_write = "32GB/s", network = "infiniband" }
