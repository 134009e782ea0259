return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = "10 steps" },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:64: error[unit]: train.steps: expected 1000, "10Gi tokens" or "3
    epochs"; got "10 steps"
    4 | "8 sequences", microbatch = 2, steps = "10 steps" },
      |                                        ^~~~~~~~~~
        fix: steps = 10
