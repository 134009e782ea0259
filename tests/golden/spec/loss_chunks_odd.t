return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  memory = { loss_chunks = 3 },
}
-- >>> exit 1
job.lua:6:28: error[loss-chunks]: memory.loss_chunks = 3 does not divide the 128
    tokens of a micro-batch
    6 |   memory = { loss_chunks = 3 },
      |                            ^
        fix: loss_chunks = 2
