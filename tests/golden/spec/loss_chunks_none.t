return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  memory = { loss_chunks = 0 },
}
-- >>> exit 1
job.lua:6:28: error[range]: memory.loss_chunks is 1 to 1024; got 0
    6 |   memory = { loss_chunks = 0 },
      |                            ^
