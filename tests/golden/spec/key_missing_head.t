return job {
  model = { layers = 4 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { lr = 1e-3 },
}
-- >>> exit 1
job.lua:2:3: error[missing-key]: model has no name: model = { "gpt2", ... }
    2 |   model = { layers = 4 },
      |   ^~~~~
        fix: model = "gpt2-124m"
job.lua:5:3: error[missing-key]: optimizer has no name: optimizer = { "adamw",
    ... }
    5 |   optimizer = { lr = 1e-3 },
      |   ^~~~~~~~~
        fix: optimizer = { "adamw", lr = 6e-4 }
2 errors
