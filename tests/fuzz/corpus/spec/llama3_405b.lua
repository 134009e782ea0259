-- Llama 3 405B, asked for on one GPU: the answer is a table of what does not fit, and by how much.
--   state  405.9e9 * 18 B = 7.3 TB
return job {
  model     = "llama3-405b",
  data      = "synthetic",
  train     = { batch = "1 sequences", context = 8192, steps = 10 },
  optimizer = { "adamw", lr = 8e-5 },
  cluster   = { "dgx-h100", devices = 1 },
}
