-- RUN: explain job.lua --no-data train.batch
-- 65 billion parameters on 128 GPUs: tp 8 x pp 4 x dp 4, 240 sequences a step.
return job {
  model     = { "llama", layers = 80, width = 8192, heads = 64, ffn = 22016, vocab = 32000 },
  data      = "synthetic",
  train     = { batch = "240 sequences", context = 2048, steps = 10 },
  optimizer = { "adamw", lr = 1.5e-4 },
  parallel  = { tp = 8, pp = 4, dp = 4 },
  cluster   = { "dgx-h100", nodes = 16 },
}
-- >>> exit 0
train.batch            240 sequences           job: job.lua:5:25
