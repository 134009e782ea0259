return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8.5 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:21: error[range]: train.batch is a whole number; got "8.5 sequences"
    4 |   train = { batch = "8.5 sequences", steps = 10 },
      |                     ^~~~~~~~~~~~~~~
