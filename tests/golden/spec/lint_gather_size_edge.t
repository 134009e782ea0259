-- RUN: check job.lua
return job {
  model     = { "gpt2", layers = 24, width = 256, heads = 4, vocab = 512, positions = 64 },
  data      = "synthetic",
  train     = { batch = "16 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel  = { zero = 3, zero_unit = "8MiB" },
  cluster   = "dgx-h100",
}
-- >>> exit 0
job.lua: right
