return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = math.huge },
  optimizer = { "adamw", lr = -math.huge },
}
-- >>> exit 1
job.lua:4:44: error[wrong-type]: train.steps: expected 1000, "10Gi tokens" or "3
    epochs"; got infinity
    4 |   train = { batch = "8 sequences", steps = math.huge },
      |                                            ^~~~~~~~~
job.lua:5:31: error[wrong-type]: optimizer.lr: expected a number such as 6e-4;
    got -infinity
    5 |   optimizer = { "adamw", lr = -math.huge },
      |                               ^~~~~~~~~~
2 errors
