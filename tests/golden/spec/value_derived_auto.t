return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  parallel = { dp = "auto" },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:5:21: error[wrong-type]: parallel.dp: expected a whole number such as 8,
    2^19 or "16Mi"; got "auto"
    5 |   parallel = { dp = "auto" },
      |                     ^~~~~~
        fix: remove dp
    note: it is derived when it is absent
