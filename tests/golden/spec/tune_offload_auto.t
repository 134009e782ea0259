-- RUN: tune job.lua
return job {
  model     = { "llama", layers = 6, width = 256, heads = 8, kv_heads = 4, ffn = 512, vocab = 1024 },
  data      = "synthetic",
  train     = { batch = "64 sequences", context = 256, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  memory    = { budget = "2MB" },
  offload   = "auto",
  cluster   = { "dgx-h100", nodes = 1 },
}
-- >>> exit 1
job.lua: error[does-not-fit]: no degrees, order, micro-batch or recomputation
    make the job fit on 8 ranks
    note: the nearest needs 3.87 MB or more, and memory.budget is 2.00 MB: tp 1,
    cp 4, pp 2, dp 1, zb-v, micro-batch 1, zero 3, recompute every 2
    note: the search moves nothing out of device memory: with degrees that the
    job sets, offload = "auto" may still fit
