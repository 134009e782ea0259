-- RUN: explain job.lua offload --no-data | grep -E "optimizer|weights|path"
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  offload = { "nvme", path = "/scratch" },
}
-- >>> exit 0
offload.optimizer      nvme                    derived: offload = "nvme"
offload.weights        nvme                    derived: offload = "nvme"
offload.path           /scratch                job: job.lua:6:30
