return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  optimiser = { "sgd", lr = 1 },
  shedule = "cosine",
}
-- >>> exit 1
job.lua:6:3: error[unknown-section]: optimiser: no such section; did you mean
    'optimizer'?
    6 |   optimiser = { "sgd", lr = 1 },
      |   ^~~~~~~~~
        fix: optimizer
job.lua:7:3: error[unknown-section]: shedule: no such section; did you mean
    'schedule'?
    7 |   shedule = "cosine",
      |   ^~~~~~~
        fix: schedule
2 errors
