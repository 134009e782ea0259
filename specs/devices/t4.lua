-- NVIDIA T4 16GB; for planning: kernels need compute capability 8.0, and it has 7.5. It has no bf16 arithmetic, so the
-- key is absent. Peaks of the data sheet; memory as nvidia-smi shows it.
return { gpu = "Tesla T4", memory = "15GiB", fp32 = "8.1TFLOP/s", fp16 = "65TFLOP/s",
         bandwidth = "320GB/s", host_link = "16GB/s", power = 70 }
