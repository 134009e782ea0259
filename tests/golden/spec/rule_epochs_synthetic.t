return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = "2 epochs" },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:44: error[conflict]: train.steps in epochs needs data files that can
    be counted
    4 |   train = { batch = "8 sequences", steps = "2 epochs" },
      |                                            ^~~~~~~~~~
        fix: steps = 1000
