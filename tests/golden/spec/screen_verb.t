-- RUN: check job.lua --svg x.svg
return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
lockstep: check takes no --svg; that is an option of: explain tune topology
