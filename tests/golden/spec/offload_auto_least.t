-- RUN: check job.lua --no-data -D offload.prefetch=1
-- The recomputation that leaves the smallest arena is taken, here that of each block, and weights move with the states.
return job {
  model = { "llama", layers = 3, width = 64, heads = 4, kv_heads = 2, ffn = 128, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, context = 32, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  memory = { budget = "1.1MB" },
  offload = "auto",
  cluster = { "here", device = "cpu", devices = 1 },
}
-- >>> exit 0
job.lua: right
