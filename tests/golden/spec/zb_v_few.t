return job {
  model = { "gpt2", layers = 8, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "12 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 4 },
  parallel = { pp = 4, pipeline = "zb-v" },
}
-- >>> exit 1
job.lua:4:21: error[batch-identity]: 6 micro-batches are too few: zb-v on 4
    stages takes 7 or more
    4 |   train = { batch = "12 sequences", microbatch = 2, steps = 10 },
      |                     ^~~~~~~~~~~~~~
        fix: batch = "14 sequences"
    note: or keep the batch: microbatch = 1
