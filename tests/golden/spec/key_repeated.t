return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, steps = 20 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:48: error[repeated-key]: train.steps is written twice; the last would
    win
    4 |   train = { batch = "8 sequences", steps = 10, steps = 20 },
      |                                                ^~~~~
