return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", context = 62, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { cp = 4, cp_kind = "ulysses" },
}
-- >>> exit 1
job.lua:4:47: error[context-multiple]: context 62 is not a multiple of cp = 4:
    ulysses gives each rank one equal piece
    4 |   train = { batch = "64 sequences", context = 62, steps = 10 },
      |                                               ^~
        fix: context = 60
    note: nearest above: 64
