return job {
  model = { "gpt2-124m", layers = -4 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:2:35: error[range]: model.layers: a size is not negative and below 1e15;
    got -4
    2 |   model = { "gpt2-124m", layers = -4 },
      |                                   ^~
