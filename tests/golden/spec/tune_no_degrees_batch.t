-- RUN: tune job.lua
-- 40 ranks have 5 replicas or more, which 7 sequences are no multiple of.
return job {
  model     = { "llama", layers = 2, width = 256, heads = 8, kv_heads = 4, ffn = 512, vocab = 1024 },
  data      = "synthetic",
  train     = { batch = "7 sequences", context = 64, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster   = { "dgx-h100", nodes = 5 },
}
-- >>> exit 1
job.lua: error[degrees]: no degrees that keep the job's keys divide 40 ranks,
    the batch and the model
    note: replicas divide the batch: with tp = 8 there are 5, and 5 sequences
    would do
