-- RUN: list devices
-- >>> exit 0
  a100-sxm-40     NVIDIA A100 SXM4 40GB
  a100-sxm-80     NVIDIA A100 SXM4 80GB
  a10g            NVIDIA A10G 24GB, of AWS's g5 machines
  b200            NVIDIA B200 180GB of an HGX or DGX
  cpu-zen5        AMD Zen 5 (EPYC), with the rates that "cpu" lacks: two cores
                  of an idle machine, 2026-11-21
  gb200           NVIDIA GB200, one of the GPUs
  gb300           NVIDIA GB300, one of the GPUs
  h100-nvl        NVIDIA H100 NVL 94GB, one card of a bridged pair
  h100-pcie       NVIDIA H100 PCIe 80GB
  h100-sxm        NVIDIA H100 SXM5 80GB
  h100-sxm-96     NVIDIA H100 SXM5 96GB with HBM2e at 2.4 TB/s and 500 W, as
                  torchtitan's benchmarks describe theirs
                  (github.com/pytorch/torchtitan,
                  benchmarks/llama3_h100_202412_torchtitan.md)
  h200-sxm        NVIDIA H200 SXM 141GB
  l40s            NVIDIA L40S 48GB
  mi250x          AMD MI250X, one of its two dies, which is what a rank has; for
                  planning: kernels for it are not built
  mi300x          AMD MI300X 192GB; for planning: kernels for it are not built
  p100            NVIDIA P100 SXM2 16GB; for planning: kernels need compute
                  capability 8.0, and it has 6.0
  rtx-4090        NVIDIA GeForce RTX 4090 24GB
  rtx-5090        NVIDIA GeForce RTX 5090 32GB
  t4              NVIDIA T4 16GB; for planning: kernels need compute capability
                  8.0, and it has 7.5
  v100-16         NVIDIA V100 SXM2 16GB; for planning: kernels need compute
                  capability 8.0, and it has 7.0
  v100-32         NVIDIA V100 SXM2 32GB; for planning: kernels need compute
                  capability 8.0, and it has 7.0
  cpu             this machine's processor, by its cores

lockstep help NAME says more
