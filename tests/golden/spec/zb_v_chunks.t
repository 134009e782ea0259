return job {
  model = { "gpt2", layers = 8, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 4 },
  parallel = { pp = 4, pipeline = { "zb-v", chunks = 3 } },
}
-- >>> exit 1
job.lua:7:35: error[wrong-type]: parallel.pipeline: only "interleaved" says how
    many chunks of layers a stage has
    7 |   parallel = { pp = 4, pipeline = { "zb-v", chunks = 3 } },
      |                                   ^
        fix: pipeline = "zb-v"
