-- AMD MI300X 192GB; for planning: kernels for it are not built. Dense peaks of the data sheet.
return { memory = "191.9GiB", fp32 = "163.4TFLOP/s", bf16 = "1.3074PFLOP/s", fp16 = "1.3074PFLOP/s", tf32 = "653.7TFLOP/s", fp8 = "2.6149PFLOP/s",
         bandwidth = "5.3TB/s", host_link = "64GB/s", power = 750 }
