-- NVIDIA H100 PCIe 80GB. Dense peaks of the data sheet; memory as nvidia-smi shows it.
-- host_link: PCIe 5.0 x16.
return { gpu = "NVIDIA H100 PCIe",
         memory = "79.6GiB", fp32 = "51TFLOP/s", bf16 = "756TFLOP/s", fp16 = "756TFLOP/s", tf32 = "378TFLOP/s", fp8 = "1.513PFLOP/s",
         bandwidth = "2TB/s", host_link = "64GB/s", power = 350 }
