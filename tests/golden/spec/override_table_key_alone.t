-- RUN: check job.lua --no-data -D parallel.pipeline=1f1b -D parallel.pipeline.chunks=4
return job {
  model = { "gpt2", layers = 8, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { pp = 2, pipeline = { "interleaved", chunks = 2 } },
}
-- >>> exit 1
-D parallel.pipeline.chunks=4: error[wrong-type]: parallel.pipeline: only
    "interleaved" says how many chunks of layers a stage has
        fix: pipeline = { "interleaved", chunks = 2 }
