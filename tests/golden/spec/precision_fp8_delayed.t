return job {
  model     = { "gpt2", layers = 1, width = 32, heads = 2, vocab = 64, positions = 16 },
  data      = "synthetic",
  train     = { batch = "1 sequences", steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", linear = { "fp8", scaling = "delayed" } },
  cluster   = { "here", device = "h100-sxm" },
}
-- >>> exit 1
job.lua:6:34: error[declined]: precision.linear: scaling = "delayed": a scale of
    earlier steps' maxima is state to save, and the first step has none; scales
    are of the tensor's own maximum
    6 |   precision = { "bf16", linear = { "fp8", scaling = "delayed" } },
      |                                  ^
        fix: linear = { "fp8", scaling = "tensor" }
