-- RUN: check job.lua
return job {
  model     = "llama2-7b",
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel  = { zero = 3, zero_unit = "9GB" },
  cluster   = "dgx-h100",
}
-- >>> exit 0
job.lua:6:24: lint[gather-size]: ZeRO 3 gathers 9.00 GB at once, 11 % of what a
    rank may use
    6 |   parallel  = { zero = 3, zero_unit = "9GB" },
      |                        ^
        fix: zero_unit = "layer"
job.lua: right
