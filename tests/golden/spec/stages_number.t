return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { pp = 2, stages = 4 },
}
-- >>> exit 1
job.lua:7:33: error[wrong-type]: parallel.stages: expected a list of whole
    numbers: { 9, 8, 8, 7 }; got 4
    7 |   parallel = { pp = 2, stages = 4 },
      |                                 ^
        fix: stages = { 4 }
