return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  offload = { optimizer = { "nvme", share = 0.6 }, path = "/scratch" },
}
-- >>> exit 1
job.lua:6:27: error[wrong-type]: offload.optimizer: expected a word, { "cpu",
    share = "60%" } or { "nvme", most = "40GB" }
    6 |   offload = { optimizer = { "nvme", share = 0.6 }, path = "/scratch" },
      |                           ^
        fix: optimizer = { "nvme", share = "60%" }
