return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  memory = { recompute = "full" },
}
-- >>> exit 1
job.lua:6:26: error[unknown-word]: memory.recompute: "full" is not one of: none
    selective block sqrt auto every
    6 |   memory = { recompute = "full" },
      |                          ^~~~~~
        fix: recompute = "block"
