-- RUN: check job.lua --no-data -D model.width=-3 -D train.steps=-3
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
-D model.width=-3: error[range]: model.width: a size is not negative and below
    1e15; got "-3"
-D train.steps=-3: error[unit]: train.steps: expected 1000, "10Gi tokens" or "3
    epochs"; got "-3"
2 errors
