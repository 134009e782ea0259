return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  offload = { optimizer = "cpu", weights = "nvme" },
}
-- >>> exit 1
job.lua:6:44: error[not-built]: offload.weights = "nvme" with states in host
    memory is not built yet: of weights in files states are there, too
    6 |   offload = { optimizer = "cpu", weights = "nvme" },
      |                                            ^~~~~~
        fix: offload = { optimizer = "nvme", weights = "nvme" }
