return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = true ? 10 : 20 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:69: error[syntax]: a choice is written: test and one or other
    4 | quences", microbatch = 2, steps = true ? 10 : 20 },
      |                                        ^
