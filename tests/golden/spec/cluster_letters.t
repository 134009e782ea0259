return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  cluster = "DGX-H100",
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:5:13: error[unknown-preset]: no cluster is named 'DGX-H100'; did you
    mean 'dgx-h100'?
    5 |   cluster = "DGX-H100",
      |             ^~~~~~~~~~
        fix: "dgx-h100"
