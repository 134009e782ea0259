return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  parallel = { ep = 2 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:5:16: error[declined]: parallel.ep does not exist: experts are not cut:
    there are no mixture-of-experts models
    5 |   parallel = { ep = 2 },
      |                ^~
