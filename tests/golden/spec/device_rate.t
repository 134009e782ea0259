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
return { memory = "80GB", fp32 = "60TFLOP/s", reserve = "0GB", bandwidth = "0GB/s" }
-- >>> exit 1
d.lua:1:76: error[range]: bandwidth: "0GB/s" is too little
    1 | TFLOP/s", reserve = "0GB", bandwidth = "0GB/s" }
      |                                        ^~~~~~~
        fix: bandwidth = "3.35TB/s"
