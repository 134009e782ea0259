-- NVIDIA DGX A100 (80 GB): eight GPUs on NVLink 3, one 200 Gb/s InfiniBand port a GPU. Rates are one way, per GPU.
-- Memory of the processors: 2 TB (DGX A100 User Guide), DDR4-3200 on 8 channels of each of two.
-- Latencies: the least that NCCL's tuning model gives a step of a ring (LL), over NVLink and over the network
-- (github.com/NVIDIA/nccl, src/graph/tuning.cc, hwLat at 01afd20): predictions are bounds.
-- Disks: 8 x 3.84 TB NVMe as RAID 0, /raid (DGX A100 User Guide); 7 and 4 GB/s each, what a disk on PCIe 4.0 x4 reads and writes.
return { nodes = 1, devices = 8, device = "a100-sxm-80", cores = 128, intra = "300GB/s", inter = "200Gb/s",
         intra_latency = "470ns", inter_latency = "2.7us", host = "2TiB", host_bandwidth = "409GB/s",
         disk = "30.7TB", disk_read = "56GB/s", disk_write = "32GB/s", network = "infiniband" }
