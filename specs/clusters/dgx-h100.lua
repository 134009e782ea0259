-- NVIDIA DGX H100: eight GPUs on NVLink 4, one 400 Gb/s InfiniBand port a GPU. Rates are one way, per GPU.
return { nodes = 1, devices = 8, device = "h100-sxm", cores = 112, intra = "450GB/s", inter = "400Gb/s" }
