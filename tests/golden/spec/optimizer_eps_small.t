-- RUN: check job.lua
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3, eps = 1e-60 },
}
-- >>> exit 1
job.lua:5:43: error[range]: optimizer.eps is 1e-37 to 1; got 1e-60
    5 |   optimizer = { "adamw", lr = 1e-3, eps = 1e-60 },
      |                                           ^~~~~
