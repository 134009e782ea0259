return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", grad = "bf16", master = "none" },
}
-- >>> exit 0
job.lua:6:49: lint[lost-updates]: bf16 weights near 1 are 1/128 apart: steps of
    lr 0.001 round away, norms stay as they are
    6 |   precision = { "bf16", grad = "bf16", master = "none" },
      |                                                 ^~~~~~
        fix: master = "fp32"
job.lua: right
