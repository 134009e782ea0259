-- RUN: check job.lua
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3, beta2 = 1 - 1e-9 },
}
-- >>> exit 1
job.lua:5:45: error[range]: optimizer.beta2 is 0.99999999900000003, which is 1
    in fp32, in which updates are computed: the largest below 1 is 0.99999994
    5 |   optimizer = { "adamw", lr = 1e-3, beta2 = 1 - 1e-9 },
      |                                             ^~~~~~~~
