-- RUN: compile job.lua
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 2 },
  offload = { optimizer = "cpu", weights = "cpu" },
}
-- >>> exit 1
job.lua:7:44: error[conflict]: offload.weights: the ranks of dp 2 x cp 1 each
    update a piece of the weights; those that go to host memory are the pieces
    of zero 3, and zero is 1
    7 |   offload = { optimizer = "cpu", weights = "cpu" },
      |                                            ^~~~~
        fix: parallel = { zero = 3 }
