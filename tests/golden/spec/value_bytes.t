return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  memory = { budget = "80G" },
  cluster = { "here", memory = 8 },
}
-- >>> exit 1
job.lua:6:23: error[unit]: memory.budget: expected "80GiB", "80GB" or "90%"; got
    "80G"
    6 |   memory = { budget = "80G" },
      |                       ^~~~~
        fix: budget = "80GB"
job.lua:7:32: error[unit]: cluster.memory says its unit; got 8
    7 |   cluster = { "here", memory = 8 },
      |                                ^
        fix: memory = "8GiB"
2 errors
