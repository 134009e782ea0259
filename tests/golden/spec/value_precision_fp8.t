return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  precision = "fp8",
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:5:15: error[unknown-word]: precision: "fp8" is not one of: fp32 bf16
    fp16
    5 |   precision = "fp8",
      |               ^~~~~
        fix: precision = "bf16"
    note: fp8 is for linear layers: { "bf16", linear = "fp8" }
