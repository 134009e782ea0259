return job {
  model = "mine.lua",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:2:11: error[unknown-preset]: no model is named 'mine.lua'; a file of
    your own begins with ./
    2 |   model = "mine.lua",
      |           ^~~~~~~~~~
        fix: "./mine.lua"
