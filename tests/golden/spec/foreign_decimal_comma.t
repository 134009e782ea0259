return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 0,001 },
}
-- >>> exit 1
job.lua:5:31: error[wrong-type]: optimizer.lr: a comma separates values; a
    number has a point
    5 |   optimizer = { "adamw", lr = 0,001 },
      |                               ^~~~~
        fix: lr = 0.001
