-- RUN: check job.lua --no-data
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  offload = { optimizer = "nvme", verify = true },
}
-- >>> exit 1
job.lua:6:27: error[missing-key]: offload.optimizer is "nvme", and offload.path
    does not say in which directory
    6 |   offload = { optimizer = "nvme", verify = true },
      |                           ^~~~~~
        fix: path = "/local/scratch"
