return job {
  model = "./mine.lua",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:2:11: error[no-file]: there is no file mine.lua
    2 |   model = "./mine.lua",
      |           ^~~~~~~~~~~~
