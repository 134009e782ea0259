-- RUN: explain job.lua cluster.device
return job { "./sub/base.lua", cluster = { "./other/site.lua", nodes = 2 } }
-- FILE: sub/base.lua
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- FILE: other/site.lua
return { nodes = 1, devices = 2, device = "./mine.lua", intra = "100GB/s", inter = "10GB/s" }
-- FILE: other/mine.lua
return { memory = "24GiB", reserve = "1GB", fp32 = "30TFLOP/s", bf16 = "60TFLOP/s", bandwidth = "900GB/s" }
-- >>> exit 0
cluster.device         ./other/mine.lua        preset: other/site.lua:1:43
