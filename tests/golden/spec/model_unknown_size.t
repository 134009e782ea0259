return job {
  model = { "gpt2-124m", layer = 4 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:2:34: error[unknown-size]: model.layer: no such size; did you mean
    'layers'?
    2 |   model = { "gpt2-124m", layer = 4 },
      |                                  ^
        fix: layers = 4
