-- NVIDIA B200 180GB of an HGX or DGX. Dense peaks at 1,000 W and 64 TB/s of a DGX of eight, of the data
-- sheet of DGX B200; memory as nvidia-smi shows it.
-- host_link: PCIe 5.0 x16. What it sustains: products 0.91 of the best of a search over shapes, 1,745 TFLOP/s
-- (stas00/ml-engineering at 744d01e18b79); copies 0.9 (docs/measurements/expected.md).
-- switch_sums: all-reduces inside NVSwitches. Each rank sends all bytes once: 20 of 25 GB/s of each NVLink, nvlsEfficiency of
-- NCCL's tuning model (src/graph/tuning.cc at 5067397c: Hopper 0.85, Blackwell 0.74), 15 of 16 channels.
return { gpu = "NVIDIA B200",
         memory = "179GiB", fp32 = "80TFLOP/s", bf16 = "2.25PFLOP/s", fp16 = "2.25PFLOP/s", tf32 = "1.1PFLOP/s", fp8 = "4.5PFLOP/s",
         bandwidth = "8TB/s", host_link = "64GB/s",
         product = "1588TFLOP/s", copy = "7.2TB/s", multiprocessors = 148, kernel = "1.5us", power = 1000, switch_sums = "499GB/s" }
