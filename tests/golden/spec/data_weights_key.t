return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 64, positions = 32 },
  data = { train = { { "dd/train.tok", wieght = 5 }, "dd/valid.tok" } },
  train = { batch = "16 sequences", context = 32, steps = 20 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[data]: data.train: source 1 has the key 'wieght'; it takes
    paths and a weight
    3 |   data = { train = { { "dd/train.tok", wieght = 5 }, "dd/valid.tok" } },
      |                    ^
        fix: train = { { "a.tok", weight = 5 }, "b.tok" }
