-- RUN: check job.lua --no-data -D parallel=auto
return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { tp = 2 },
}
-- >>> exit 1
job.lua: error[no-rates]: nothing says how fast cpu computes, so no setting is
    faster than another
    note: specs/devices has the rates of GPUs: `lockstep list devices`
