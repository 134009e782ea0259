-- AMD Zen 5 (EPYC), with the rates that "cpu" lacks: two cores of an idle machine, 2026-11-21. Matrix products of GPT-2
-- 124M took place at 435 to 479 GFLOP/s in fp32 and 850 to 985 in bf16; AdamW's 28 bytes for each of 124 M parameters took
-- 62 to 67 ms. A rank has the share of its threads. Other processors have other rates: lockstep bench --kernels prints them.
return { cores = 2, fp32 = "450GFLOP/s", bf16 = "900GFLOP/s", bandwidth = "54GB/s" }
