-- RUN: explain job.lua parallel.stages --no-data -D 'parallel.stages={1,2,2,3}'
return job {
  model = { "gpt2", layers = 8, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { pp = 2, pipeline = { "interleaved", chunks = 2 } },
}
-- >>> exit 0
parallel.stages        1 2 2 3                 -D parallel.stages={1,2,2,3}
job.lua:7:21: lint[imbalance]: the heaviest stage has 30 % more work than the
    mean, and the others wait for it (`explain --schedule` says why)
    7 |   parallel = { pp = 2, pipeline = { "interleaved", chunks = 2 } },
      |                     ^
        fix: remove stages
