return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { zero = 3, zero_unit = "25MiB" },
}
-- >>> exit 1
job.lua:7:38: error[not-built]: parallel.zero_unit = "25MiB" is not built yet; a layer is what zero
    3 gathers at once
    7 |   parallel = { zero = 3, zero_unit = "25MiB" },
      |                                      ^~~~~~~
        fix: remove zero_unit
