return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "fp32", master = "fp32" },
}
-- >>> exit 1
job.lua:6:34: error[conflict]: precision.master: param is fp32 itself, a copy of
    it would be the same
    6 |   precision = { "fp32", master = "fp32" },
      |                                  ^~~~~~
        fix: remove master
