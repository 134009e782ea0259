return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = 524288, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:21: error[unit]: train.batch says its unit; got 524288
    4 |   train = { batch = 524288, steps = 10 },
      |                     ^~~~~~
        fix: batch = "512Ki tokens"
