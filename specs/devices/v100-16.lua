-- NVIDIA V100 SXM2 16GB. It has no bf16 arithmetic, so the key is absent.
return { memory = "15.7GiB", reserve = "1.2GB", fp32 = "15.7TFLOP/s", bandwidth = "900GB/s" }
