-- RUN: check job.lua --no-data
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  offload = { weights = "cpu" },
}
-- >>> exit 1
job.lua:6:25: error[conflict]: offload.weights: an update needs weights and
    optimizer states in the same memory, and the states stay on the device
    6 |   offload = { weights = "cpu" },
      |                         ^~~~~
        fix: offload = { optimizer = "cpu", weights = "cpu" }
