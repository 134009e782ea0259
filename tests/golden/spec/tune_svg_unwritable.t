-- RUN: tune job.lua --svg none/tune.svg
-- Refused before the search, which has no rates here.
return job {
  model     = { "llama", layers = 2, width = 64, heads = 2, ffn = 64, vocab = 128 },
  data      = "synthetic",
  train     = { batch = "8 sequences", context = 64, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
lockstep: none/tune.svg: cannot be written: No such file or directory
