return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { pp = 2, pipeline = { "interleaved", chunks = 1 } },
}
-- >>> exit 1
job.lua:7:35: error[range]: parallel.pipeline: chunks is 2 to 1000000; got 1
    7 |   parallel = { pp = 2, pipeline = { "interleaved", chunks = 1 } },
      |                                   ^
        fix: pipeline = { "interleaved", chunks = 2 }
