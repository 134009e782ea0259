return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  precision = { "fp16", loss_scale = 64, master = "split", update = "kahan" },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:5:51: error[conflict]: precision.master: a split master is the lower
    half of fp32, beside a bf16 weight as its upper half; param is fp16
    5 |   precision = { "fp16", loss_scale = 64, master = "split", update = "kahan" },
      |                                                   ^~~~~~~
        fix: param = "bf16"
job.lua:5:69: error[conflict]: precision.update: "kahan" is for bf16 weights;
    param is fp16
    5 | scale = 64, master = "split", update = "kahan" },
      |                                        ^~~~~~~
        fix: update = "nearest"
2 errors
