-- RUN: explain job.lua precision.loss_scale --no-data -D precision.loss_scale.window=50
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "fp16", loss_scale = { "megatron", init = 2^20 } },
}
-- >>> exit 0
precision.loss_scale   megatron                -D precision.loss_scale.window=50
  init                 1048576                 -D precision.loss_scale.window=50
  window               50                      -D precision.loss_scale.window=50
  growth               2                       -D precision.loss_scale.window=50
  backoff              0.5                     -D precision.loss_scale.window=50
  hysteresis           2                       -D precision.loss_scale.window=50
  min                  1                       -D precision.loss_scale.window=50
  late                 0                       -D precision.loss_scale.window=50
  refill               0                       -D precision.loss_scale.window=50
  most_skips           50                      -D precision.loss_scale.window=50
