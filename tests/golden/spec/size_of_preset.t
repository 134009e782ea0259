return job {
  model = { "gpt2-124m", heads = 5 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, context = 64, steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "fp32",
}
-- >>> exit 1
job.lua:2:34: error[wrong-size]: model.heads = 5: heads must divide width
    2 |   model = { "gpt2-124m", heads = 5 },
      |                                  ^
    SPECS/models/gpt2.lua:23:7: note: this is
    what 'gpt2-124m' makes of it
