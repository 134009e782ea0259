return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "fp16", loss_scale = { "dynamic", backoff = 1 } },
}
-- >>> exit 1
job.lua:6:38: error[range]: precision.loss_scale: backoff is above 1.1754944e-38
    and below 1; got 1
    6 |   precision = { "fp16", loss_scale = { "dynamic", backoff = 1 } },
      |                                      ^
        fix: backoff = 0.5
