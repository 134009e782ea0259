-- RUN: check job.lua
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "sgd", lr = 1e-60 },
}
-- >>> exit 1
job.lua:5:29: error[range]: optimizer.lr is 1e-60, which is 0 in fp32, in which
    updates are computed: it is 0, or 1.2e-38 or more
    5 |   optimizer = { "sgd", lr = 1e-60 },
      |                             ^~~~~
