return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = "dgx-h10",
}
-- >>> exit 1
job.lua:6:13: error[unknown-preset]: no cluster is named 'dgx-h10'; did you mean
    'dgx-h100'?
    6 |   cluster = "dgx-h10",
      |             ^~~~~~~~~
        fix: "dgx-h100"
