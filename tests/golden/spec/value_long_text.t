return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = ("x"):rep(2000), steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:21: error[unit]: train.batch: expected "512Ki tokens", "512 sequences"
    or "64 samples"; got "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..."
    4 |   train = { batch = ("x"):rep(2000), steps = 10 },
      |                     ^~~~~~~~~~~~~~~
