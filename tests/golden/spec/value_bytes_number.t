return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  memory = { budget = 16e9 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:5:23: error[unit]: memory.budget says its unit; got 16000000000
    5 |   memory = { budget = 16e9 },
      |                       ^~~~
        fix: budget = "16GB"
