return job {
  model     = { "gpt2", layers = 1, width = 32, heads = 2, vocab = 64, positions = 16 },
  data      = "synthetic",
  train     = { batch = "1 sequences", steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "fp32", compute = "tf32" },
  cluster   = { "here", device = "v100-16" },
}
-- >>> exit 1
job.lua:6:35: error[device-precision]: v100-16 has no tf32 arithmetic
    6 |   precision = { "fp32", compute = "tf32" },
      |                                   ^~~~~~
        fix: compute = "fp16"
