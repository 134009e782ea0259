-- RUN: explain job.lua --schedule 2>/dev/null | head -9
return job {
  model = { "llama", layers = 8, width = 512, heads = 8, kv_heads = 4, ffn = 1024, vocab = 512 },
  data = "synthetic",
  train = { batch = "8 sequences", context = 256, microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", devices = 4 },
  parallel = { pp = 4, stages = { 2, 3, 2, 1 } },
}
