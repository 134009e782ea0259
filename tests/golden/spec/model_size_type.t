return job {
  model = { "gpt2-124m", layers = {} },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:2:35: error[wrong-type]: model.layers: a size is a number; got an empty
    table
    2 |   model = { "gpt2-124m", layers = {} },
      |                                   ^
