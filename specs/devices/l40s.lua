-- NVIDIA L40S 48GB. It has no NVLink. Dense peaks of the data sheet; memory as nvidia-smi shows it.
-- host_link: PCIe 4.0 x16.
return { gpu = "NVIDIA L40S",
         memory = "44.9GiB", fp32 = "91.6TFLOP/s", bf16 = "362TFLOP/s", fp16 = "362TFLOP/s", tf32 = "183TFLOP/s", fp8 = "733TFLOP/s",
         bandwidth = "864GB/s", host_link = "32GB/s", power = 350 }
