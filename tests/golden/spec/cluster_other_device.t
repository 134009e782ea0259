return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  cluster = "dgx-b200",
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:25: error[batch-identity]: 8 sequences / (dp 8 x microbatch 2) = 0.50
    passes, not whole
    4 |   train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
      |                         ^~~~~~~~~~~~~
        fix: batch = "16 sequences"
    note: or keep the batch: microbatch = 1
