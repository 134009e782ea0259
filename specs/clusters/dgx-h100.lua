-- NVIDIA DGX H100: eight GPUs on NVLink 4, one 400 Gb/s InfiniBand port a GPU. Rates are one way, per GPU.
-- Memory of the processors: 2 TB (DGX H100 User Guide), DDR5-4800 on 8 channels of each of two.
-- Latencies: the least that NCCL's tuning model gives a step of a ring (LL), over NVLink and over the network
-- (github.com/NVIDIA/nccl, src/graph/tuning.cc, hwLat at 01afd20): predictions are bounds.
return { nodes = 1, devices = 8, device = "h100-sxm", cores = 112, intra = "450GB/s", inter = "400Gb/s",
         intra_latency = "470ns", inter_latency = "2.7us", host = "2TiB", host_bandwidth = "614GB/s" }
