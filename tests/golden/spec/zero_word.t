return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { zero = "none" },
}
-- >>> exit 1
job.lua:7:23: error[wrong-type]: parallel.zero: expected a whole number such as
    8, 2^19 or "16Mi"; got "none"
    7 |   parallel = { zero = "none" },
      |                       ^~~~~~
