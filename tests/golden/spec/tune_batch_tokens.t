-- RUN: tune job.lua
return job {
  model     = { "llama", layers = 6, width = 256, heads = 8, kv_heads = 4, ffn = 512, vocab = 1024 },
  data      = "synthetic",
  train     = { batch = "10000 tokens", context = 256, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster   = { "dgx-h100", nodes = 1 },
}
-- >>> exit 1
job.lua:4:25: error[batch-identity]: 10,000 tokens are 39.06 sequences of 256,
    not whole
    4 |   train     = { batch = "10000 tokens", context = 256, steps = 10 },
      |                         ^~~~~~~~~~~~~~
        fix: batch = "10Ki tokens"
