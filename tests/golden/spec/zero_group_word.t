return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { zero_group = "nodes" },
}
-- >>> exit 1
job.lua:7:29: error[wrong-type]: parallel.zero_group: expected a whole number
    such as 8, or "node"; got "nodes"
    7 |   parallel = { zero_group = "nodes" },
      |                             ^~~~~~~
