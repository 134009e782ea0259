-- RUN: tune job.lua -q -D parallel.tp=2
return job {
  model     = { "llama", layers = 6, width = 256, heads = 8, kv_heads = 4, ffn = 512, vocab = 1024 },
  data      = "synthetic",
  train     = { batch = "64 sequences", context = 256, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster   = { "dgx-h100", nodes = 1 },
}
-- >>> exit 0
  train    = { microbatch = 16 },
  parallel = { tp = 2, zero = 0 },
  memory   = { recompute = "none" },
