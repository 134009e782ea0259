return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "9e99 tokens", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:21: error[range]: train.batch is 1 to 1000000000000000; got "9e99
    tokens"
    4 |   train = { batch = "9e99 tokens", steps = 10 },
      |                     ^~~~~~~~~~~~~
