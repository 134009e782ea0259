return job {
  model     = { "gpt2", layers = 1, width = 32, heads = 2, vocab = 64, positions = 16 },
  data      = "synthetic",
  train     = { batch = "1 sequences", steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", linear = { "fp8", scaling = "block" } },
  cluster   = { "here", device = "h100-sxm" },
}
-- >>> exit 1
job.lua:6:34: error[not-built]: precision.linear: scaling = "block": blocks of
    128 numbers are not built yet; a scale is of a whole tensor
    6 |   precision = { "bf16", linear = { "fp8", scaling = "block" } },
      |                                  ^
        fix: linear = { "fp8", scaling = "tensor" }
