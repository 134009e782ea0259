return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = { "synthetic", shuffle = 1 },
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:40: error[wrong-type]: data.shuffle: expected true or false; got 1
    3 |   data      = { "synthetic", shuffle = 1 },
      |                                        ^
        fix: shuffle = true
