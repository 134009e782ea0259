-- RUN: check job.lua
return job {
  model = { "gpt2", layers = 2, width = 64, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", devices = 1 },
  memory = { budget = "200GB" },
}
-- >>> exit 0
job.lua:7:23: lint[budget-above]: memory.budget is more than the 85.5 GB that a
    rank has
    7 |   memory = { budget = "200GB" },
      |                       ^~~~~~~
        fix: budget = "84840MB"
job.lua: right
