-- RUN: check job.lua --no-data -D model.positions=60
return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { cp = 4 },
}
-- >>> exit 1
job.lua:7:21: error[context-multiple]: context 60 is not a multiple of 2 x cp =
    8: a ring gives each rank two equal pieces
    7 |   parallel = { cp = 4 },
      |                     ^
        fix: context = 56
