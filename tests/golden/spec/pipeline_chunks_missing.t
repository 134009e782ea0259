return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { pp = 2, pipeline = "interleaved" },
}
-- >>> exit 1
job.lua:7:35: error[wrong-type]: parallel.pipeline: "interleaved" says how many
    chunks of layers a stage has
    7 |   parallel = { pp = 2, pipeline = "interleaved" },
      |                                   ^~~~~~~~~~~~~
        fix: pipeline = { "interleaved", chunks = 2 }
