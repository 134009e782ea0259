-- RUN: explain job.lua optimizer.beta2 --no-data
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "lion", lr = 1e-4 },
}
-- >>> exit 0
optimizer.beta2        0.99                    derived: lion: 0.99
