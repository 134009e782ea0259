return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "fp16", loss_scale = { "deepspeed", hysterisis = 1 } },
}
-- >>> exit 1
job.lua:6:38: error[unknown-key]: precision.loss_scale has no key 'hysterisis';
    it has init window growth backoff hysteresis min late refill most_skips
    6 |   precision = { "fp16", loss_scale = { "deepspeed", hysterisis = 1 } },
      |                                      ^
        fix: hysteresis = 2
