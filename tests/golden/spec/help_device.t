-- RUN: help h100-sxm
-- >>> exit 0
h100-sxm: a device
    NVIDIA H100 SXM5 80GB. Dense peaks of the data sheet; memory as nvidia-smi
    shows it; reserve: CUDA and NCCL. host_link: PCIe 5.0 x16.
    cluster = { ..., device = "h100-sxm" }
    return { gpu = "NVIDIA H100 80GB HBM3",
             memory = "79.6GiB", reserve = "1.2GB", fp32 = "67TFLOP/s", bf16 =
        "989TFLOP/s", fp16 = "989TFLOP/s", tf32 = "494TFLOP/s", fp8 =
        "1.979PFLOP/s",
             bandwidth = "3.35TB/s", host_link = "64GB/s" }
    file SPECS/devices/h100-sxm.lua
