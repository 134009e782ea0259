return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { zero = 0, zero_group = 4 },
}
-- >>> exit 1
job.lua:7:39: error[conflict]: parallel.zero_group is for zero 1 to 3; zero is 0
    7 |   parallel = { zero = 0, zero_group = 4 },
      |                                       ^
        fix: remove zero_group
