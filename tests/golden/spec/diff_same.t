-- RUN: diff job.lua other.lua
return job {
  model = { "gpt2", layers = 2, width = 128, heads = 2, vocab = 512, positions = 256 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", devices = 4 },
}
-- FILE: other.lua
return job { "./job.lua", parallel = { zero = 1 } }
-- >>> exit 0
the same bytes of each kind, bytes sent, and time
