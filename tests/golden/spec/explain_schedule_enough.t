-- A small bubble is not talked about.
-- RUN: explain job.lua --schedule 2>/dev/null | head -5
return job {
  model = { "llama", layers = 64, width = 64, heads = 8, kv_heads = 4, ffn = 64, vocab = 16 },
  data = "synthetic",
  train = { batch = "40 sequences", context = 64, microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", devices = 2 },
  parallel = { pp = 2 },
}
