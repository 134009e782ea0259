-- RUN: list clusters
-- >>> exit 0
  cpu-node        A plain node without GPUs: one rank, 16 cores, 64 GiB, 100
                  Gb/s Ethernet
  dgx-a100        NVIDIA DGX A100 (80 GB): eight GPUs on NVLink 3, one 200 Gb/s
                  InfiniBand port a GPU
  dgx-h100        NVIDIA DGX H100: eight GPUs on NVLink 4, one 400 Gb/s
                  InfiniBand port a GPU
  dgx-h200        NVIDIA DGX H200: as DGX H100 with larger memory
  here            this machine: ranks are its threads

lockstep help NAME tells more
