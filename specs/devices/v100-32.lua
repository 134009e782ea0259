-- NVIDIA V100 SXM2 32GB; for planning: kernels need compute capability
-- 8.0, and it has 7.0. It has no bf16 arithmetic, so the key is absent. Peaks of the data sheet.
-- host_link: PCIe 3.0 x16.
return { gpu = "Tesla V100-SXM2-32GB",
         memory = "31.7GiB", fp32 = "15.7TFLOP/s", fp16 = "125TFLOP/s",
         bandwidth = "900GB/s", host_link = "16GB/s", power = 300 }
