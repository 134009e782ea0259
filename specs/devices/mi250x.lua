-- AMD MI250X, one of its two dies, which is what a rank has; for planning: kernels for it are not built.
-- Halves of the data sheet: matrix peaks of 95.7 TFLOP/s in fp32 and 383 in bf16, 128 GB, 3.2768 TB/s.
-- host_link: one of the Infinity Fabric links to the processor.
return { memory = "63.9GiB", fp32 = "47.85TFLOP/s", bf16 = "191.5TFLOP/s", fp16 = "191.5TFLOP/s",
         bandwidth = "1.6384TB/s", host_link = "36GB/s" }
