-- RUN: explain job.lua | grep -A1 ^reason
return job {
  reason = "one rank is enough for a model of this size, and whoever reads the record of the run in a year should know that",
  model = { "gpt2", layers = 1, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = "cpu-node",
}
-- >>> exit 0
reason   one rank is enough for a model of this size, and whoever reads the
         record of the run in a year should know that
