-- NVIDIA DGX A100 (80 GB): eight GPUs on NVLink 3, one 200 Gb/s InfiniBand port a GPU. Rates are one way, per GPU.
return { nodes = 1, devices = 8, device = "a100-sxm-80", cores = 128, intra = "300GB/s", inter = "200Gb/s" }
