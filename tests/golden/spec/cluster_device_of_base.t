-- RUN: explain job.lua cluster.device
return job { "./sub/base.lua" }
-- FILE: sub/base.lua
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "cpu-node", device = "./mine.lua" },
}
-- FILE: sub/mine.lua
return { memory = "24GiB", reserve = "1GB", fp32 = "30TFLOP/s", bf16 = "60TFLOP/s", bandwidth = "900GB/s" }
-- >>> exit 0
cluster.device         ./sub/mine.lua          base: sub/base.lua:6:36
