return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { zero = 3, zero_unit = "25MiB" },
}
-- >>> exit 0
job.lua:7:38: lint[no-effect]: parallel.zero_unit: nothing is gathered, because
    every parameter is smaller than zero_keep
    7 |   parallel = { zero = 3, zero_unit = "25MiB" },
      |                                      ^~~~~~~
        fix: remove zero_unit
job.lua: right
