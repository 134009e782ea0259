return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  offload = { "auto", grads = "cpu" },
  cluster = { "dgx-h100", devices = 1, host = "2TiB" },
}
-- >>> exit 1
job.lua:6:31: error[conflict]: offload.grads: gradients accumulate where updates
    run, and auto may leave states on the device
    6 |   offload = { "auto", grads = "cpu" },
      |                               ^~~~~
        fix: offload = { optimizer = "cpu", grads = "cpu" }
