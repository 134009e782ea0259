-- RUN: compile job.lua
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = "./mine.lua",
  offload = "cpu",
}
-- FILE: mine.lua
return { device = "h100-sxm", devices = 1 }
-- >>> exit 1
job.lua:7:13: error[missing-key]: offload: ./mine.lua does not say how much
    memory a node has beside its devices
    7 |   offload = "cpu",
      |             ^~~~~
        fix: cluster = { "./mine.lua", host = "512GiB" }
