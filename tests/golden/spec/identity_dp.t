return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "12 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 4 },
}
-- >>> exit 1
job.lua:4:21: error[batch-identity]: 12 sequences / (dp 4 x microbatch 2) = 1.50
    passes, not whole
    4 |   train = { batch = "12 sequences", microbatch = 2, steps = 10 },
      |                     ^~~~~~~~~~~~~~
        fix: batch = "16 sequences"
    note: nearest below: "8 sequences"
    note: or keep the batch: microbatch = 1
