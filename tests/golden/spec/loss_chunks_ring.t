return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel = { cp = 2 },
  cluster = { "here", devices = 2 },
  memory = { loss_chunks = 64 },
}
-- >>> exit 1
job.lua:8:28: error[loss-chunks]: memory.loss_chunks = 64 does not divide the 32
    tokens of a micro-batch that a rank has
    8 |   memory = { loss_chunks = 64 },
      |                            ^~
        fix: loss_chunks = 32
