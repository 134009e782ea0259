return job {
  model = { "gpt2", layers = 4, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 1, host = "4GB" },
  offload = { grads = "cpu" },
}
-- >>> exit 1
job.lua:7:23: error[conflict]: offload.grads: gradients accumulate where updates
    run, and states do not leave the device
    7 |   offload = { grads = "cpu" },
      |                       ^~~~~
        fix: offload = { optimizer = "cpu", grads = "cpu" }
