return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "60 sequences", microbatch = 3, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { pp = 4, pipeline = { "interleaved", chunks = 2 }, stages = { 1, 1, 1, 1, 1, 1, 1, 1 } },
}
-- >>> exit 1
job.lua:4:21: error[batch-identity]: 10 micro-batches are not a multiple of pp
    4, and interleaved stages take pp at a time
    4 |   train = { batch = "60 sequences", microbatch = 3, steps = 10 },
      |                     ^~~~~~~~~~~~~~
        fix: batch = "72 sequences"
    note: nearest below: "48 sequences"
