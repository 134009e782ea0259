-- RUN: list clusters
-- >>> exit 0
  cpu-node        A plain node without GPUs: one rank, 16 cores, 64 GiB, 100
                  Gb/s Ethernet
  dgx-a100        NVIDIA DGX A100 (80 GB): eight GPUs on NVLink 3, one 200 Gb/s
                  InfiniBand port a GPU
  dgx-b200        NVIDIA DGX B200: eight GPUs on NVLink 5, one 400 Gb/s
                  InfiniBand port a GPU
  dgx-h100        NVIDIA DGX H100: eight GPUs on NVLink 4, one 400 Gb/s
                  InfiniBand port a GPU
  dgx-h200        NVIDIA DGX H200: as DGX H100 with larger memory
  frontier-like   HPE Cray EX235a as of Frontier and LUMI: eight dies of four
                  MI250X, a 200 Gb/s Slingshot port for each two
  gb200-nvl72     NVIDIA GB200 NVL72: 18 nodes of four GPUs, all 72 on NVLink 5,
                  one 400 Gb/s InfiniBand port a GPU
  gb300-nvl72     NVIDIA GB300 NVL72: as GB200 NVL72 with larger memory and one
                  800 Gb/s InfiniBand port a GPU
  ndv4            Azure ND A100 v4: eight A100 40GB on NVLink 3, one 200 Gb/s
                  InfiniBand port a GPU. 96 cores (learn.microsoft.com, ND A100
                  v4-series, with 6,000 GiB of disks; ndv4-topo.xml of
                  github.com/Azure/azhpc-images)
  ndv5            Azure ND H100 v5: eight H100 on NVLink 4, one 400 Gb/s
                  InfiniBand port a GPU. 96 cores (learn.microsoft.com,
                  ND-H100-v5 size series, with 8 disks of 3.5 TB; ndv5-topo.xml
                  of github.com/Azure/azhpc-images)
  p4d             AWS p4d.24xlarge: eight A100 40GB on NVLink 3, 400 Gb/s of EFA
                  for all
  p5              AWS p5.48xlarge: eight H100 on NVLink 4, 3,200 Gb/s of EFA for
                  all. 32 cards of 100 Gb/s (EC2 User Guide); 192 vCPUs on 96
                  cores
  here            this machine: ranks are its threads

lockstep help NAME says more
