-- RUN: list devices
-- >>> exit 0
  a100-sxm-40     NVIDIA A100 SXM4 40GB
  a100-sxm-80     NVIDIA A100 SXM4 80GB
  h100-sxm        NVIDIA H100 SXM5 80GB
  h200-sxm        NVIDIA H200 SXM 141GB
  v100-32         NVIDIA V100 SXM2 32GB
  cpu             this machine's processor, by its cores

lockstep help NAME tells more
