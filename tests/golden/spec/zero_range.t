return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { zero = 4 },
}
-- >>> exit 1
job.lua:7:23: error[range]: parallel.zero is 0 to 3; got 4
    7 |   parallel = { zero = 4 },
      |                       ^
