return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  memory = "block",
}
-- >>> exit 1
job.lua:6:12: error[wrong-type]: memory is a table of keys: memory = { ... };
    got "block"
    6 |   memory = "block",
      |            ^~~~~~~
