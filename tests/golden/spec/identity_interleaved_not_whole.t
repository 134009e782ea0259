return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "61 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { pp = 4, pipeline = { "interleaved", chunks = 2 } },
}
-- >>> exit 1
job.lua:4:21: error[batch-identity]: 61 sequences / (dp 2 x microbatch 1) =
    30.50 passes, not whole
    4 |   train = { batch = "61 sequences", steps = 10 },
      |                     ^~~~~~~~~~~~~~
        fix: batch = "64 sequences"
    note: nearest below: "56 sequences"
