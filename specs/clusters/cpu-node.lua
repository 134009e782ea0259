-- A plain node without GPUs: one rank, 16 cores, 64 GiB, 100 Gb/s Ethernet.
return { nodes = 1, devices = 1, device = "cpu", cores = 16, memory = "64GiB", inter = "100Gb/s", network = "ethernet" }
