-- RUN: explain job.lua cluster.intra_latency
return job {
  model = { "gpt2", layers = 2, width = 64, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "cpu-node", devices = 2, calibration = "./rates.lua" },
}
-- FILE: rates.lua
return {
  processor = "p",
  rates = { collectives = { 7e9, "2026-11-27" }, messages = { 500000, "2026-11-27" } },
}
-- >>> exit 0
cluster.intra_latency  2000 ns                 preset: rates.lua:3:61
