-- RUN: explain job.lua parallel.pp --no-data
-- Degrees, order, micro-batch, ZeRO and recomputation are chosen; the micro-batch of the job is kept.
return job {
  model     = { "llama", layers = 6, width = 256, heads = 8, kv_heads = 4, ffn = 512, vocab = 1024 },
  data      = "synthetic",
  train     = { batch = "64 sequences", context = 256, steps = 10, microbatch = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel  = "auto",
  cluster   = { "dgx-h100", nodes = 1 },
}
-- >>> exit 0
parallel.pp            1                       derived: parallel = "auto"
