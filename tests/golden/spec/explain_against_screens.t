-- RUN: explain job.lua --map --against parallel.zero=0
return job {
  model = { "gpt2", layers = 12, width = 1024, heads = 16, vocab = 4096, positions = 1024 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", devices = 4 },
  parallel = { zero = 3 },
}
-- >>> exit 1
lockstep: explain shows one screen at a time, not both of --map and --against
