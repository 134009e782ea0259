return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = "1e-3" },
}
-- >>> exit 1
job.lua:5:31: error[wrong-type]: optimizer.lr: expected a number such as 6e-4;
    got "1e-3"
    5 |   optimizer = { "adamw", lr = "1e-3" },
      |                               ^~~~~~
        fix: lr = 0.001
