return job {
  model = { "gpt2", layers = 4, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 1, host = "4GB" },
  offload = { optimizer = "nvme", path = "/tmp", grads = "cpu", update = "device" },
}
-- >>> exit 1
job.lua:7:74: error[not-built]: offload.update = "device" with gradients in host
    memory is not built yet: they are where the host updates
    7 | path = "/tmp", grads = "cpu", update = "device" },
      |                                        ^~~~~~~~
        fix: update = "host"
job.lua:7:74: error[not-built]: offload.update = "device" with states in files
    is not built yet: the host's processors update them where they pass
    7 | path = "/tmp", grads = "cpu", update = "device" },
      |                                        ^~~~~~~~
        fix: update = "host"
2 errors
