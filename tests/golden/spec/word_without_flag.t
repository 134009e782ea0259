-- RUN: check job.lua train.steps=40
return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
lockstep: 'train.steps=40' has no option before it; did you mean -D
    train.steps=40?
