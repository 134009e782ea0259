return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 0/0 },
  optimizer = { "adamw", lr = 0/0 },
}
-- >>> exit 1
job.lua:4:44: error[wrong-type]: train.steps: expected 1000, "10Gi tokens" or "3
    epochs"; got not a number (0/0)
    4 |   train = { batch = "8 sequences", steps = 0/0 },
      |                                            ^~~
job.lua:5:31: error[wrong-type]: optimizer.lr: expected a number such as 6e-4;
    got not a number (0/0)
    5 |   optimizer = { "adamw", lr = 0/0 },
      |                               ^~~
2 errors
