-- NVIDIA A100 SXM4 80GB. Dense peaks of the data sheet; memory as nvidia-smi shows it.
-- host_link: PCIe 4.0 x16. What it sustains (docs/measurements/expected.md): products 0.91 of the best of a search over shapes,
-- 271 TFLOP/s (stas00/ml-engineering at 744d01e18b79); attention of FlashAttention-2 (arXiv:2307.08691); copies 0.9.
return { gpu = "NVIDIA A100-SXM4-80GB",
         memory = "79.3GiB", fp32 = "19.5TFLOP/s", bf16 = "312TFLOP/s", fp16 = "312TFLOP/s", tf32 = "156TFLOP/s",
         bandwidth = "2.039TB/s", host_link = "32GB/s",
         product = "247TFLOP/s", attention = "310TFLOP/s", attention_backward = "265TFLOP/s", copy = "1.84TB/s", multiprocessors = 108, kernel = "1.5us", power = 400 }
