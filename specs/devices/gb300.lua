-- NVIDIA GB300, one of the GPUs. Dense peaks; a GB300 NVL72 has 72 with 20 TB and 576 TB/s, by its data sheet: that
-- is the memory here.
-- host_link: half of a Grace's C2C, 450 GB/s one way.
-- switch_sums: all-reduces inside NVSwitches. Each rank sends all bytes once: 20 of 25 GB/s of each NVLink, nvlsEfficiency of
-- NCCL's tuning model (src/graph/tuning.cc at 5067397c: Hopper 0.85, Blackwell 0.74), 15 of 16 channels.
return { gpu = "NVIDIA GB300",
         memory = "277GiB", fp32 = "80TFLOP/s", bf16 = "2.5PFLOP/s", fp16 = "2.5PFLOP/s", tf32 = "1.25PFLOP/s", fp8 = "5PFLOP/s",
         bandwidth = "8TB/s", host_link = "225GB/s", switch_sums = "499GB/s" }
