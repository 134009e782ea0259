return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps => 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:56: error[syntax]: = comes between a key and its value, not =>
    4 |   train     = { batch = "8 sequences", microbatch = 2, steps => 10 },
      |                                                        ^~~~~~~~
        fix: steps = 10
