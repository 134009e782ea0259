-- NVIDIA A10G 24GB, of AWS's g5 machines. It has no NVLink. Dense peaks and bandwidth of NVIDIA's data sheet for AWS
-- (140 TFLOP/s sparse in bf16); other lists have 62.5 or 125 in bf16. Memory as nvidia-smi shows it.
-- host_link: PCIe 4.0 x16.
return { gpu = "NVIDIA A10G",
         memory = "22.4GiB", fp32 = "31.5TFLOP/s", bf16 = "70TFLOP/s", fp16 = "70TFLOP/s", tf32 = "35TFLOP/s",
         bandwidth = "600GB/s", host_link = "32GB/s", power = 150 }
