steps = 100
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:1:1: error[global]: a job or model file sets no globals: 'steps' needs
    'local'
    1 | steps = 100
      | ^~~~~
        fix: local steps = ...
