-- NVIDIA GeForce RTX 4090 24GB. It has no NVLink. Dense peaks of NVIDIA's Ada whitepaper, bf16 with sums in fp32; memory
-- as nvidia-smi shows it.
-- host_link: PCIe 4.0 x16.
return { gpu = "NVIDIA GeForce RTX 4090",
         memory = "23.9GiB", fp32 = "82.6TFLOP/s", bf16 = "165.2TFLOP/s", fp16 = "165.2TFLOP/s", tf32 = "82.6TFLOP/s", fp8 = "330.3TFLOP/s",
         bandwidth = "1.008TB/s", host_link = "32GB/s", power = 450 }
