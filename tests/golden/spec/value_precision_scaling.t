return job {
  model     = { "gpt2", layers = 1, width = 32, heads = 2, vocab = 64, positions = 16 },
  data      = "synthetic",
  train     = { batch = "1 sequences", steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", linear = { "fp8", scaling = "row" } },
}
-- >>> exit 1
job.lua:6:34: error[unknown-word]: precision.linear: scaling: "row" is not one
    of: tensor block
    6 |   precision = { "bf16", linear = { "fp8", scaling = "row" } },
      |                                  ^
        fix: linear = { "fp8", scaling = "tensor" }
