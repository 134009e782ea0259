return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = f"{8} sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:25: error[syntax]: a text has no letter before it; values are joined:
    n .. " sequences"
    4 |   train     = { batch = f"{8} sequences", microbatch = 2, steps = 10 },
      |                         ^
