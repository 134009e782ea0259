return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  precision = 16,
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:5:15: error[wrong-type]: precision is a table of keys, or a word:
    precision = { ... }; got 16
    5 |   precision = 16,
      |               ^~
        fix: precision = "fp16"
