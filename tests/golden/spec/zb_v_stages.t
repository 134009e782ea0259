return job {
  model = { "gpt2", layers = 8, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 4 },
  parallel = { pp = 4, pipeline = "zb-v", stages = { 2, 2, 2, 2 } },
}
-- >>> exit 1
job.lua:7:52: error[stages]: parallel.stages has 4 counts of layers for pp 4 x
    chunks 2 = 8
    7 |   parallel = { pp = 4, pipeline = "zb-v", stages = { 2, 2, 2, 2 } },
      |                                                    ^
        fix: remove stages
    note: without it layers are spread evenly
