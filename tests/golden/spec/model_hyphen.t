return job {
  model     = "llama-3-8b",
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:2:15: error[unknown-preset]: no model is named 'llama-3-8b'; did you
    mean 'llama3-8b'?
    2 |   model     = "llama-3-8b",
      |               ^~~~~~~~~~~~
        fix: "llama3-8b"
