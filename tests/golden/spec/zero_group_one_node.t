return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { zero = 3, zero_group = "node" },
}
-- >>> exit 1
job.lua:7:39: error[zero-group]: zero_group = "node" shares states inside a node
    and repeats them on each node; there is one node
    7 |   parallel = { zero = 3, zero_group = "node" },
      |                                       ^~~~~~
        fix: remove zero_group
    note: groups inside a node have a size: zero = 3, zero_group = N
