return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "1000 tokens", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:21: error[batch-identity]: 1,000 tokens are 15.62 sequences of 64, not
    whole
    4 |   train = { batch = "1000 tokens", steps = 10 },
      |                     ^~~~~~~~~~~~~
        fix: batch = "1Ki tokens"
