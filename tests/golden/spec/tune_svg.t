-- RUN: tune job.lua -D train.batch="1048576 sequences" --svg /dev/stdout 2>/dev/null | grep -oE "step, m?s<"
return job {
  model     = { "llama", layers = 6, width = 256, heads = 8, kv_heads = 4, ffn = 512, vocab = 1024 },
  data      = "synthetic",
  train     = { batch = "64 sequences", context = 256, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster   = { "dgx-h100", nodes = 2, price = "$98/h" },
}
-- >>> exit 0
step, s<
