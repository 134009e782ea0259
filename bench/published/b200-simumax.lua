-- The B200 of SimuMax's tables (github.com/MooreThreads/SimuMax at 4dcaae51): its own 514 measured products reach 0.16 to
-- 0.66 of the peak, 0.49 in the median, where other B200 reach 0.78. The rest as specs/devices/b200.lua.
return { memory = "179GiB", reserve = "1.2GB", fp32 = "80TFLOP/s", bf16 = "2.25PFLOP/s", fp16 = "2.25PFLOP/s", tf32 = "1.1PFLOP/s", fp8 = "4.5PFLOP/s",
         bandwidth = "8TB/s", host_link = "64GB/s", product = "1100TFLOP/s", copy = "7.2TB/s", multiprocessors = 148, kernel = "1.5us" }
