return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "fp16", loss_scale = { "torch", hysteresis = 0 } },
}
-- >>> exit 1
job.lua:6:38: error[range]: precision.loss_scale: hysteresis is a whole number,
    1 to 1e+09; got 0
    6 |   precision = { "fp16", loss_scale = { "torch", hysteresis = 0 } },
      |                                      ^
        fix: hysteresis = 1
