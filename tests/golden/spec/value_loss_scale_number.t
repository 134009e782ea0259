return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "fp16", loss_scale = { 1024, window = 8 } },
}
-- >>> exit 1
job.lua:6:38: error[conflict]: precision.loss_scale: window is for a scale that
    moves; this one is 1024
    6 |   precision = { "fp16", loss_scale = { 1024, window = 8 } },
      |                                      ^
        fix: remove window
