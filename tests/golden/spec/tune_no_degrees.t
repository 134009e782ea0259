-- RUN: tune job.lua -D parallel.tp=3
return job {
  model     = { "llama", layers = 2, width = 64, heads = 2, ffn = 64, vocab = 128 },
  data      = "synthetic",
  train     = { batch = "8 sequences", context = 64, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster   = { "dgx-h100", nodes = 1 },
}
-- >>> exit 1
job.lua: error[degrees]: no degrees that keep the job's keys divide 8 ranks, the
    batch and the model
