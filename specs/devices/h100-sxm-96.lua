-- NVIDIA H100 SXM5 96GB with HBM2e at 2.4 TB/s and 500 W, as torchtitan's benchmarks describe theirs
-- (github.com/pytorch/torchtitan, benchmarks/llama3_h100_202412_torchtitan.md). Peaks are those of the 80GB part;
-- memory as nvidia-smi shows 96GB parts; host_link: PCIe 5.0 x16.
-- Rates of products and attention are those of h100-sxm times (500 / 700)^0.5: clocks at the limit of its power.
-- switch_sums: all-reduces inside NVSwitches, 482 GB/s of bus bandwidth on 8 H200 (stas00/ml-engineering at 744d01e18b79,
-- network/benchmarks): each rank sends all bytes once, 8/14 of that.
return { memory = "94.5GiB", fp32 = "67TFLOP/s", bf16 = "989TFLOP/s", fp16 = "989TFLOP/s", tf32 = "494TFLOP/s", fp8 = "1.979PFLOP/s",
         bandwidth = "2.4TB/s", host_link = "64GB/s",
         product = "620TFLOP/s", attention = "700TFLOP/s", attention_backward = "560TFLOP/s", copy = "2.16TB/s", multiprocessors = 132, kernel = "1.5us", power = 500, switch_sums = "275GB/s" }
