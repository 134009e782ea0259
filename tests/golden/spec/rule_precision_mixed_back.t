return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", compute = "fp32" },
}
-- >>> exit 1
job.lua:6:35: error[not-built]: precision: param bf16 with compute fp32 is not
    built yet; the two are the same
    6 |   precision = { "bf16", compute = "fp32" },
      |                                   ^~~~~~
        fix: precision = "fp32"
