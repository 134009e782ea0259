return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, validate-every = 10, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:56: error[syntax]: a key has _, not -, between its words
    4 |   train     = { batch = "8 sequences", microbatch = 2, validate-every = 10, steps = 10 },
      |                                                        ^~~~~~~~~~~~~~
        fix: validate_every = 10
