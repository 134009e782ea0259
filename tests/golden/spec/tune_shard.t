-- RUN: tune job.lua -q
-- Keys that belong to a degree may be kept while the degree is open.
return job {
  model     = { "llama", layers = 6, width = 256, heads = 8, kv_heads = 4, ffn = 512, vocab = 1024 },
  data      = "synthetic",
  train     = { batch = "64 sequences", context = 256, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel  = { "auto", pipeline = "zb-h1", shard = "full" },
  memory    = { recompute = "none" },
  cluster   = { "dgx-h100", nodes = 1 },
}
-- >>> exit 0
  train    = { microbatch = 16 },
  parallel = { tp = 1, cp = 1, pp = 2 },
