-- RUN: check job.lua --no-data -D schedule=linear -D schedule.floor=1e-4
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
-D schedule.floor=1e-4: lint[learning-rate]: schedule.floor is a fraction of
    lr: 0.0001 of 0.001 is 1e-07, where decay ends
        fix: -D schedule.floor=0.1
    note: that is 0.0001 as a rate
job.lua: right
