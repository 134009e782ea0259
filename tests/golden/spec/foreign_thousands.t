return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10,000 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:64: error[wrong-type]: train.steps: a comma separates values; digits
    are not grouped
    4 | "8 sequences", microbatch = 2, steps = 10,000 },
      |                                        ^~~~~~
        fix: steps = 10000
