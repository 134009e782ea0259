-- RUN: check job.lua --no-data
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  offload = { optimizer = "cpu", prefetch = 4 },
}
-- >>> exit 1
job.lua:6:45: error[conflict]: offload.prefetch is for weights, gradients or
    activations in host memory; none of them is there
    6 |   offload = { optimizer = "cpu", prefetch = 4 },
      |                                             ^
        fix: remove prefetch
