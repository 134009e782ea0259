-- NVIDIA GeForce RTX 5090 32GB. It has no NVLink. Dense peaks of NVIDIA's RTX Blackwell whitepaper, bf16 with sums in fp32;
-- memory as nvidia-smi shows it.
-- host_link: PCIe 5.0 x16.
return { gpu = "NVIDIA GeForce RTX 5090",
         memory = "31.8GiB", fp32 = "104.8TFLOP/s", bf16 = "209.5TFLOP/s", fp16 = "209.5TFLOP/s", tf32 = "104.8TFLOP/s", fp8 = "419TFLOP/s",
         bandwidth = "1.792TB/s", host_link = "64GB/s", power = 575 }
