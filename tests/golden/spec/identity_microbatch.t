return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "500 sequences", microbatch = 16, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:21: error[batch-identity]: 500 sequences / (dp 1 x microbatch 16) =
    31.25 passes, not whole
    4 |   train = { batch = "500 sequences", microbatch = 16, steps = 10 },
      |                     ^~~~~~~~~~~~~~~
        fix: batch = "512 sequences"
    note: nearest below: "496 sequences"
    note: or keep the batch: microbatch = 10
