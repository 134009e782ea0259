return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  precision = { "bf16", param = "fp17" },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:5:33: error[unknown-word]: precision.param: "fp17" is not one of: fp32
    bf16 fp16
    5 |   precision = { "bf16", param = "fp17" },
      |                                 ^~~~~~
        fix: param = "fp16"
