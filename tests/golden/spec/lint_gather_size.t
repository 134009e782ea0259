-- RUN: check job.lua
return job {
  model     = { "gpt2", layers = 24, width = 256, heads = 4, vocab = 512, positions = 64 },
  data      = "synthetic",
  train     = { batch = "16 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel  = { zero = 3 },
  cluster   = "dgx-h100",
}
-- >>> exit 0
job.lua:6:24: lint[gather-size]: ZeRO 3 gathers pieces of 197 kB a rank: below
    1 MiB the latency of a message is most of its time
    6 |   parallel  = { zero = 3 },
      |                        ^
        fix: zero_unit = "8MiB"
job.lua: right
