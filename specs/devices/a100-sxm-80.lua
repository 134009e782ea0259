-- NVIDIA A100 SXM4 80GB. Dense peaks of the data sheet; memory as nvidia-smi shows it; reserve: CUDA and NCCL.
-- host_link: PCIe 4.0 x16.
return { gpu = "NVIDIA A100-SXM4-80GB",
         memory = "79.3GiB", reserve = "1.2GB", fp32 = "19.5TFLOP/s", bf16 = "312TFLOP/s", fp16 = "312TFLOP/s", tf32 = "156TFLOP/s",
         bandwidth = "2.039TB/s", host_link = "32GB/s" }
