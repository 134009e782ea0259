-- NVIDIA DGX H100: eight GPUs on NVLink 4, one 400 Gb/s InfiniBand port a GPU. Rates are one way, per GPU.
-- Memory of the processors: 2 TB (DGX H100 User Guide), DDR5-4800 on 8 channels of each of two.
-- Latencies: the least that NCCL's tuning model gives a step of a ring (LL), over NVLink and over the network
-- (github.com/NVIDIA/nccl, src/graph/tuning.cc, hwLat at 01afd20): predictions are bounds.
-- Disks: 8 x 3.84 TB NVMe as RAID 0, /raid (DGX H100 User Guide); 7 and 4 GB/s each, what a disk on PCIe 4.0 x4 reads and writes.
return { nodes = 1, devices = 8, device = "h100-sxm", cores = 112, intra = "450GB/s", inter = "400Gb/s",
         intra_latency = "470ns", inter_latency = "2.7us", host = "2TiB", host_bandwidth = "614GB/s",
         disk = "30.7TB", disk_read = "56GB/s", disk_write = "32GB/s", network = "infiniband" }
