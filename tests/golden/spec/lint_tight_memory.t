-- RUN: check job.lua --no-data
return job {
  model = { "gpt2", layers = 2, width = 64, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  memory = { recompute = "none" },
  cluster = { "dgx-h100", devices = 1, memory = "665646kB" },
}
-- >>> exit 0
job.lua: lint[tight-memory]: the arena takes 98.9 % of what a rank has: other
    programs, or a driver that needs more, make the run fail
job.lua: right
