-- RUN: explain job.lua train.steps --no-data -D train.steps=bad -D train.steps=5
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
train.steps            5                       -D train.steps=5
