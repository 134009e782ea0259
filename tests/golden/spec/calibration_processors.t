-- RUN: explain job.lua | grep -E "^(time|range|compute|bound)"
return job {
  model = { "gpt2", layers = 4, width = 256, heads = 4, vocab = 8192, positions = 256 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 8, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "fp32",
  cluster = { "cpu-node", cores = 2, calibration = "./rates.lua" },
}
-- FILE: rates.lua
return {
  processor = "AuthenticAMD family 25 model 17 (Zen 4)",
  rates = {
    product_fp32 = { 300000000000, "2026-11-27" },
    product_bf16 = { 500000000000, "2026-11-27" },
    attention_fwd = { 100000000000, "2026-11-27" },
    attention_bwd = { 80000000000, "2026-11-27" },
    norm = { 30000000000, "2026-11-27" },
    activation = { 20000000000, "2026-11-27" },
    loss = { 6000000000, "2026-11-27" },
    host_update = { 13000000000, "2026-11-27" },
    host_bandwidth = { 40000000000, "2026-11-27" },
    records = { 1000000, "2026-11-27" },
  },
}
-- >>> exit 0
time     310 ms             a step, expected   6,603 tokens/s
range    0.93 to 1.08       8 of 10 runs take from 288 ms to 335 ms
compute  products 69 %, attention 14 %, loss 7.2 %, optimizer 3.9 %,
bound    products: 69 % of the step
