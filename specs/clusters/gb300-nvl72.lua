-- NVIDIA GB300 NVL72: as GB200 NVL72 with larger memory and one 800 Gb/s InfiniBand port a GPU.
return { "gb200-nvl72", device = "gb300", inter = "800Gb/s" }
