-- RUN: compile job.lua -q -o job.plan
-- The last norm's gradients are cast whole, and the zeros that pad them follow them.
return job {
  model     = { "llama", layers = 2, width = 32, heads = 4, vocab = 64, ffn = 64, kv_heads = 4, tied = true },
  data      = "synthetic",
  train     = { batch = "4 sequences", microbatch = 1, context = 16, steps = 4 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", reduce = "bf16" },
  parallel  = { zero = 1 },
  cluster   = { "dgx-h100", devices = 2 },
}
-- >>> exit 0
