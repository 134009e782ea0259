-- which.lua -- the job that docs/which.md changes: Llama 2 7B on the eight H100s of one node, 64 sequences of 4,096 tokens a step.
return job {
  model     = "llama2-7b",
  data      = "synthetic",
  train     = { batch = "64 sequences", microbatch = 1, context = 4096, steps = 1000 },
  optimizer = { "adamw", lr = 3e-4 },
  schedule  = { "cosine", warmup = 100 },
  cluster   = { "dgx-h100", nodes = 1 },
}
