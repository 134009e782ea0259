-- NVIDIA A100 SXM4 40GB. Dense peaks of the data sheet; memory as nvidia-smi shows it; reserve: CUDA and NCCL.
-- host_link: PCIe 4.0 x16.
return { gpu = "NVIDIA A100-SXM4-40GB",
         memory = "39.4GiB", reserve = "1.2GB", fp32 = "19.5TFLOP/s", bf16 = "312TFLOP/s", fp16 = "312TFLOP/s", tf32 = "156TFLOP/s",
         bandwidth = "1.555TB/s", host_link = "32GB/s" }
