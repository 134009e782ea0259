-- RUN: explain job.lua --schedule --svg /dev/stdout 2>/dev/null | grep -oE 'svg" width="[0-9]+"|>x [0-9]+<'
return job {
  model = { "gpt2", layers = 4, width = 256, heads = 4, vocab = 1024, positions = 128 },
  data = "synthetic",
  train = { batch = "128 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel = { pp = 2 },
  cluster = { "dgx-h100", devices = 2 },
}
-- >>> exit 0
svg" width="1058"
>x 126<
