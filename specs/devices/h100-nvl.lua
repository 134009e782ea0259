-- NVIDIA H100 NVL 94GB, one card of a bridged pair. Dense peaks of the data sheet; memory as nvidia-smi shows it.
-- host_link: PCIe 5.0 x16.
return { gpu = "NVIDIA H100 NVL",
         memory = "93.5GiB", fp32 = "60TFLOP/s", bf16 = "835TFLOP/s", fp16 = "835TFLOP/s", tf32 = "417TFLOP/s", fp8 = "1.671PFLOP/s",
         bandwidth = "3.9TB/s", host_link = "64GB/s", power = 400 }
