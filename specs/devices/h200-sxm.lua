-- NVIDIA H200 SXM 141GB. Dense peaks of the data sheet; memory as nvidia-smi shows it.
-- host_link: PCIe 5.0 x16. What it sustains is that of h100-sxm.
-- switch_sums: all-reduces inside NVSwitches, 482 GB/s of bus bandwidth on 8 H200 (stas00/ml-engineering at 744d01e18b79,
-- network/benchmarks): each rank sends all bytes once, 8/14 of that.
return { gpu = "NVIDIA H200",
         memory = "139.8GiB", fp32 = "67TFLOP/s", bf16 = "989TFLOP/s", fp16 = "989TFLOP/s", tf32 = "494TFLOP/s", fp8 = "1.979PFLOP/s",
         bandwidth = "4.8TB/s", host_link = "64GB/s",
         product = "735TFLOP/s", attention = "830TFLOP/s", attention_backward = "665TFLOP/s", copy = "4.3TB/s", multiprocessors = 132, kernel = "1.5us", power = 700, switch_sums = "275GB/s" }
