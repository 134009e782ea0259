-- RUN: explain job.lua --against
return job {
  model = { "gpt2", layers = 12, width = 1024, heads = 16, vocab = 4096, positions = 1024 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", devices = 4 },
  parallel = { zero = 3 },
}
-- >>> exit 1
lockstep: --against wants a value: --against KEY=VALUE
