-- RUN: tune job.lua
return job {
  model     = { "llama", layers = 2, width = 64, heads = 2, ffn = 64, vocab = 128 },
  data      = "synthetic",
  train     = { batch = "8 sequences", context = 64, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster   = { "here", devices = 2, device = "cpu" },
}
-- >>> exit 1
job.lua:6:47: error[no-rates]: nothing says how fast cpu computes, so no setting
    is faster than another
    6 |   cluster   = { "here", devices = 2, device = "cpu" },
      |                                               ^~~~~
    note: specs/devices has the rates of GPUs: `lockstep list devices`
