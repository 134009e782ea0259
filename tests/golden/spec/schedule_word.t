return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 100 },
  optimizer = { "adamw", lr = 1e-3 },
  schedule = { "warmup-stable-decay", shape = "1-sqrt" },
}
-- >>> exit 1
job.lua:6:16: error[unknown-word]: schedule: "warmup-stable-decay" is not one
    of: constant linear cosine wsd polynomial inverse_sqrt
    6 |   schedule = { "warmup-stable-decay", shape = "1-sqrt" },
      |                ^~~~~~~~~~~~~~~~~~~~~
        fix: schedule = "wsd"
job.lua:6:47: error[unknown-word]: schedule.shape: "1-sqrt" is not one of:
    linear cosine sqrt
    6 |   schedule = { "warmup-stable-decay", shape = "1-sqrt" },
      |                                               ^~~~~~~~
        fix: shape = "sqrt"
2 errors
