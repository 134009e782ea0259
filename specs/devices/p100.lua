-- NVIDIA P100 SXM2 16GB; for planning: kernels need compute capability 8.0, and it has 6.0. It has no bf16 arithmetic, so
-- the key is absent, and no tensor cores: fp16 is that of its multiply-adds, two at once. Peaks of the data sheet.
-- host_link: PCIe 3.0 x16.
return { gpu = "Tesla P100-SXM2-16GB", memory = "15.9GiB", fp32 = "10.6TFLOP/s", fp16 = "21.2TFLOP/s",
         bandwidth = "732GB/s", host_link = "16GB/s" }
