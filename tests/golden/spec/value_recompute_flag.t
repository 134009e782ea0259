return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  memory = { budget = "16GB" , recompute = true},
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:5:44: error[wrong-type]: memory.recompute: expected "none" or
    "selective" or "block" or "sqrt" or "auto" or "every"; got true
    5 |   memory = { budget = "16GB" , recompute = true},
      |                                            ^~~~
        fix: recompute = "block"
