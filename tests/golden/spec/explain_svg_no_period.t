-- RUN: explain job.lua --schedule --svg /dev/stdout 2>/dev/null | grep -oE 'svg" width="[0-9]+"|>[0-9]+ ms<'
return job {
  model = { "gpt2", layers = 12, width = 768, heads = 12, vocab = 50304, positions = 1024 },
  data = "synthetic",
  train = { batch = "128 sequences", context = 1024, microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  parallel = { pp = 4, pipeline = "gpipe" },
  cluster = { "dgx-h100", nodes = 1, devices = 4 },
}
-- >>> exit 0
svg" width="1698"
>100 ms<
