return job {
  model     = { "gpt2", layers = 1, width = 32, heads = 2, vocab = 64, positions = 16 },
  data      = "synthetic",
  train     = { batch = "1 sequences", steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", linear = "fp8" },
  cluster   = { "here", device = "a100-sxm-80" },
}
-- >>> exit 1
job.lua:6:34: error[device-precision]: a100-sxm-80 has no fp8 arithmetic
    6 |   precision = { "bf16", linear = "fp8" },
      |                                  ^~~~~
        fix: linear = "compute"
