return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 seqs", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:25: error[unit]: train.batch: expected "512Ki tokens", "512 sequences"
    or "64 samples"; got "8 seqs"
    4 |   train     = { batch = "8 seqs", microbatch = 2, steps = 10 },
      |                         ^~~~~~~~
        fix: batch = "8 sequences"
