return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e−3 },
}
-- >>> exit 1
job.lua:5:33: error[syntax]: − is a typographic minus sign; Lua takes only the
    plain one on the keyboard
    5 |   optimizer = { "adamw", lr = 1e−3 },
      |                                 ^
        fix: 1e-3
