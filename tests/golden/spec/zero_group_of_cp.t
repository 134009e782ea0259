return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { cp = 2, zero_group = 3 },
}
-- >>> exit 1
job.lua:7:37: error[zero-group]: zero_group 3 is not a multiple of cp 2; it may
    be 2 4 8
    7 |   parallel = { cp = 2, zero_group = 3 },
      |                                     ^
        fix: zero_group = 4
