-- The section schedule has a key decay; of the optimizer, weight_decay is meant.
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3, decay = 0.1 },
}
-- >>> exit 1
job.lua:6:37: error[unknown-key]: optimizer.decay: no such key; did you mean
    'weight_decay'?
    6 |   optimizer = { "adamw", lr = 1e-3, decay = 0.1 },
      |                                     ^~~~~
        fix: weight_decay
