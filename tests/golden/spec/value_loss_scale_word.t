return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "fp16", loss_scale = "GradScaler" },
}
-- >>> exit 1
job.lua:6:38: error[unknown-word]: precision.loss_scale: "GradScaler" is not one
    of: dynamic torch deepspeed megatron, and no number
    6 |   precision = { "fp16", loss_scale = "GradScaler" },
      |                                      ^~~~~~~~~~~~
        fix: loss_scale = "torch"
