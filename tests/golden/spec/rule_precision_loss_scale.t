return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", loss_scale = "dynamic" },
}
-- >>> exit 1
job.lua:6:38: error[conflict]: precision.loss_scale is for compute = "fp16";
    compute is bf16, whose range needs no loss scale
    6 |   precision = { "bf16", loss_scale = "dynamic" },
      |                                      ^~~~~~~~~
        fix: remove loss_scale
