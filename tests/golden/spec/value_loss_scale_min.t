return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "fp16", loss_scale = { "dynamic", init = 4, min = 8 } },
}
-- >>> exit 1
job.lua:6:38: error[conflict]: precision.loss_scale: min 8 is above init 4, with
    which it begins
    6 |   precision = { "fp16", loss_scale = { "dynamic", init = 4, min = 8 } },
      |                                      ^
        fix: min = 4
