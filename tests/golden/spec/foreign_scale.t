return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10k },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:64: error[syntax]: a number with a unit is written in quotes
    4 | "8 sequences", microbatch = 2, steps = 10k },
      |                                        ^~~
        fix: "10k"
