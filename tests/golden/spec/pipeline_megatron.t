return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { pp = 2, virtual_pipeline_model_parallel_size = 2 },
}
-- >>> exit 1
job.lua:7:24: error[unknown-key]: parallel.virtual_pipeline_model_parallel_size:
    no such key; that is parallel.pipeline here, { "interleaved", chunks = N }
    7 |   parallel = { pp = 2, virtual_pipeline_model_parallel_size = 2 },
      |                        ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
        fix: parallel = { pipeline = { "interleaved", chunks = 2 } }
