-- RUN: compile job.lua
return job {
  model = { "gpt2", layers = 2, width = 64, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = "./c.lua",
}
-- FILE: c.lua
return { types = { { nodes = 1, devices = 1, device = "./core.lua" } } }
-- FILE: core.lua
return { cores = 4, fp32 = "100GFLOP/s", bf16 = "200GFLOP/s", bandwidth = "20GB/s" }
-- >>> exit 1
c.lua:1:20: error[wrong-type]: types: each names its GPU, from specs/devices
    1 | return { types = { { nodes = 1, devices = 1, device = "./core.lua" } } }
      |                    ^
        fix: device = "h100-sxm"
