-- RUN: check job.lua --no-data -D model.layers=8
return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "4 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 4 },
  parallel = { pp = 4, pipeline = { "interleaved", chunks = 2 } },
}
-- >>> exit 0
job.lua:7:21: lint[bubble]: stages idle 27.3 % of a step: (pp-1) / (2 m + pp-1)
    with m = 4 micro-batches
    7 |   parallel = { pp = 4, pipeline = { "interleaved", chunks = 2 } },
      |                     ^
        fix: batch = "16 sequences"
    note: m = 8: at most 20 %; m = 16: at most 10 %
job.lua: right
