-- RUN: check job.lua --no-data -D parallel.pipeline.chunks=1 -D memory.recompute=every -D memory.recompute.blocks=some
return job {
  model = { "gpt2", layers = 8, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { pp = 2, pipeline = { "interleaved", chunks = 2 } },
}
-- >>> exit 1
-D memory.recompute.blocks=some: error[wrong-type]: memory.recompute: expected a
    word, or { "every", blocks = N }
        fix: recompute = { "every", blocks = 2 }
-D parallel.pipeline.chunks=1: error[range]: parallel.pipeline: chunks is 2 to
    1000000; got 1
        fix: pipeline = { "interleaved", chunks = 2 }
2 errors
