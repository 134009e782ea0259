return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  log = { dir = "a\27[31mb" },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:5:17: error[path]: a path holds no control characters: "a\x1b[31mb"
    5 |   log = { dir = "a\27[31mb" },
      |                 ^~~~~~~~~~~
