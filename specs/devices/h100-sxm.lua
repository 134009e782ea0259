-- NVIDIA H100 SXM5 80GB. Dense peaks of the data sheet; memory as nvidia-smi shows it.
-- host_link: PCIe 5.0 x16.
-- What it sustains: two training steps on one part at its limit of 700 W, where products run at 0.91 of the best that
-- stand-alone tests find (docs/measurements/expected.md).
-- switch_sums: all-reduces inside NVSwitches, 482 GB/s of bus bandwidth on 8 H200 (stas00/ml-engineering at 744d01e18b79,
-- network/benchmarks): each rank sends all bytes once, 8/14 of that.
return { gpu = "NVIDIA H100 80GB HBM3",
         memory = "79.6GiB", fp32 = "67TFLOP/s", bf16 = "989TFLOP/s", fp16 = "989TFLOP/s", tf32 = "494TFLOP/s", fp8 = "1.979PFLOP/s",
         bandwidth = "3.35TB/s", host_link = "64GB/s",
         product = "735TFLOP/s", attention = "830TFLOP/s", attention_backward = "665TFLOP/s", copy = "3TB/s", multiprocessors = 132, kernel = "1.5us", power = 700, switch_sums = "275GB/s" }
