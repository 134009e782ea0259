return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", master = "fp32", update = "kahan" },
}
-- >>> exit 1
job.lua:6:51: error[conflict]: precision.update: "kahan" is for weights without
    a master, which would keep every update
    6 |   precision = { "bf16", master = "fp32", update = "kahan" },
      |                                                   ^~~~~~~
        fix: master = "none"
