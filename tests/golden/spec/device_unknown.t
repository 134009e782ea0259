return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  cluster = { "here", device = "cuda" },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:5:32: error[unknown-preset]: no device is named 'cuda'; the library has:
    a100-sxm-40 a100-sxm-80 a10g b200 cpu-zen5 gb200 gb300 h100-nvl h100-pcie
    h100-sxm h200-sxm l40s mi250x mi300x rtx-4090 rtx-5090 t4 v100-16 v100-32
    cpu
    5 |   cluster = { "here", device = "cuda" },
      |                                ^~~~~~
