return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:61: error[syntax]: there is an invisible character here (no-break
    space); delete it, or write a plain blank
    4 |  = "8 sequences", microbatch = 2, steps = 10 },
      |                                        ^
