return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "63 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { tp = 2, pp = 2 },
}
-- >>> exit 1
job.lua:4:21: error[batch-identity]: 63 sequences / (dp 2 x microbatch 2) =
    15.75 passes, not whole
    4 |   train = { batch = "63 sequences", microbatch = 2, steps = 10 },
      |                     ^~~~~~~~~~~~~~
        fix: batch = "64 sequences"
    note: nearest below: "60 sequences"
