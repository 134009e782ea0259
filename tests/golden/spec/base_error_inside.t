return job { "./a.lua", train = { steps = 5 } }
-- FILE: a.lua
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = 64, steps = 5 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
a.lua:4:21: error[unit]: train.batch says its unit; got 64
    4 |   train = { batch = 64, steps = 5 },
      |                     ^~
        fix: batch = "64 sequences"
