local t = { steps = 5 }
t.batch = t
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = t,
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:6:3: error[wrong-type]: train.batch: expected "512Ki tokens", "512
    sequences" or "64 samples"; got a table
    6 |   train = t,
      |   ^~~~~
