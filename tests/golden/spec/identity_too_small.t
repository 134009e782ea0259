return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "2 sequences", microbatch = 4, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:21: error[batch-identity]: 2 sequences / (dp 1 x microbatch 4) = 0.50
    passes, not whole
    4 |   train = { batch = "2 sequences", microbatch = 4, steps = 10 },
      |                     ^~~~~~~~~~~~~
        fix: batch = "4 sequences"
    note: or keep the batch: microbatch = 2
