-- RUN: explain job.lua --schedule 2>/dev/null
return job {
  model = { "llama", layers = 6, width = 512, heads = 8, kv_heads = 4, ffn = 1024, vocab = 32000 },
  data = "synthetic",
  train = { batch = "6 sequences", context = 256, microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  memory = { recompute = "none" },
  cluster = { "dgx-h100", devices = 3 },
  parallel = { pp = 3, pipeline = "zb-h1" },
}
