-- RUN: check job.lua
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = "./c.lua",
}
-- FILE: c.lua
return { device = "./d.lua", nodes = 1, devices = 2, intra = "400GB/s" }
-- FILE: d.lua
return { memory = "80GB", bf16 = "900TFLOP/s", reserve = "80GB" }
-- >>> exit 1
d.lua:1:58: error[range]: reserve: 80.0 GB of the 80.0 GB of a device leave a
    rank no memory
    1 | return { memory = "80GB", bf16 = "900TFLOP/s", reserve = "80GB" }
      |                                                          ^~~~~~
        fix: reserve = "1.2GB"
