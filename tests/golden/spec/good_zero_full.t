return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { zero = 3, zero_group = 4, zero_prefetch = 2, zero_keep = "0B", bucket = "1MiB" },
}
-- >>> exit 0
job.lua: right
