-- RUN: check job.lua -D memory.budget=80
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 64, positions = 16 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
-D memory.budget=80: error[unit]: memory.budget: expected "80GiB", "80GB" or
    "90%"; got "80"
        fix: -D memory.budget=80GiB
