-- RUN: check job.lua --no-data -D 'parallel={tp=2, tp=4}'
return job {
  model = { "gpt2", layers = 8, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { pp = 2, pipeline = { "interleaved", chunks = 2 } },
}
-- >>> exit 1
-D parallel={tp=2, tp=4}: error[repeated-key]: tp is written twice; the last
    would win
