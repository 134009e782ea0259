return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { pp = 2, pipeline = { "interleaved", chunks = 2 }, stages = { 1, 3 } },
}
-- >>> exit 1
job.lua:7:75: error[stages]: parallel.stages has 2 counts of layers for pp 2 x
    chunks 2 = 4
    7 |  "interleaved", chunks = 2 }, stages = { 1, 3 } },
      |                                        ^
        fix: remove stages
    note: without it layers are spread evenly
