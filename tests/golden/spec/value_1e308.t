return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 1e308, microbatch = 1e308 },
  optimizer = { "adamw", lr = 1e308 },
}
-- >>> exit 1
job.lua:4:44: error[range]: train.steps is above 0 to 1e+18; got 1e+308
    4 |   train = { batch = "8 sequences", steps = 1e308, microbatch = 1e308 },
      |                                            ^~~~~
job.lua:4:64: error[wrong-type]: train.microbatch: expected a whole number such
    as 8, 2^19 or "16Mi"; got 1e+308
    4 | equences", steps = 1e308, microbatch = 1e308 },
      |                                        ^~~~~
job.lua:5:31: error[range]: optimizer.lr is 0 to 1000000; got 1e+308
    5 |   optimizer = { "adamw", lr = 1e308 },
      |                               ^~~~~
3 errors
