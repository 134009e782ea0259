-- NVIDIA DGX A100 (80 GB): eight GPUs on NVLink 3, one 200 Gb/s InfiniBand port a GPU. Rates are one way, per GPU.
-- Memory of the processors: 2 TB (DGX A100 User Guide), DDR4-3200 on 8 channels of each of two.
-- Latencies: the least that NCCL's tuning model gives a step of a ring (LL), over NVLink and over the network
-- (github.com/NVIDIA/nccl, src/graph/tuning.cc, hwLat at 01afd20): predictions are bounds.
return { nodes = 1, devices = 8, device = "a100-sxm-80", cores = 128, intra = "300GB/s", inter = "200Gb/s",
         intra_latency = "470ns", inter_latency = "2.7us", host = "2TiB", host_bandwidth = "409GB/s" }
