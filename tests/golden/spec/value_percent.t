return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  memory = { budget = "150%" },
}
-- >>> exit 1
job.lua:6:23: error[range]: memory.budget is at most 100%; got "150%"
    6 |   memory = { budget = "150%" },
      |                       ^~~~~~
