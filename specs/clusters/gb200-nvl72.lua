-- NVIDIA GB200 NVL72: 18 nodes of four GPUs, all 72 on NVLink 5, one 400 Gb/s InfiniBand port a GPU. Nodes beyond 18
-- are further racks. Rates are one way, per GPU: 130 TB/s of NVLink are for 72, both ways; ND GB200 v6 of
-- learn.microsoft.com has 4 x 400 Gb/s a node. Two Grace processors of 72 cores,
-- each with 480 GB of LPDDR5X at 512 GB/s (GB200 NVL72 data sheet). Latencies are those of dgx-h100.
return { nodes = 18, devices = 4, device = "gb200", cores = 144, block = 18, intra = "900GB/s", inter = "400Gb/s",
         intra_latency = "470ns", inter_latency = "2.7us", host = "960GB", host_bandwidth = "1024GB/s",
         network = "infiniband" }
