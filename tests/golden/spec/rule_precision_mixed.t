return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "fp32", compute = "bf16" },
}
-- >>> exit 1
job.lua:6:35: error[not-built]: precision: param fp32 with compute bf16 is not
    built yet; the two are the same
    6 |   precision = { "fp32", compute = "bf16" },
      |                                   ^~~~~~
        fix: precision = "bf16"
