-- RUN: tune job.lua -D parallel.tp=3
return job {
  model     = { "llama", layers = 2, width = 64, heads = 2, ffn = 64, vocab = 128 },
  data      = "synthetic",
  train     = { batch = "8 sequences", context = 64, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster   = { "dgx-h100", nodes = 1 },
}
-- >>> exit 1
-D parallel.tp=3: error[degrees]: no degrees that keep the job's keys divide 8
    ranks, the batch and the model with parallel.tp = 3
    note: parallel.tp = 3 does not divide 8 ranks
