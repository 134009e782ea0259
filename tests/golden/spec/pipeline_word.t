return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { pp = 2, pipeline = "1f2b" },
}
-- >>> exit 1
job.lua:7:35: error[unknown-word]: parallel.pipeline: "1f2b" is not one of:
    gpipe 1f1b interleaved zb-h1 zb-v
    7 |   parallel = { pp = 2, pipeline = "1f2b" },
      |                                   ^~~~~~
        fix: pipeline = "1f1b"
