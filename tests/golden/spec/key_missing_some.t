return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { microbatch = 2 },
  optimizer = "adamw",
}
-- >>> exit 1
job.lua:4:3: error[missing-key]: train.batch is missing: one optimizer step over
    the whole job; accumulation follows
    4 |   train = { microbatch = 2 },
      |   ^~~~~
        fix: batch = "64 sequences"
job.lua:4:3: error[missing-key]: train.steps is missing: length of the run
    4 |   train = { microbatch = 2 },
      |   ^~~~~
        fix: steps = 1000
job.lua:5:3: error[missing-key]: optimizer.lr is missing: peak learning rate
    5 |   optimizer = "adamw",
      |   ^~~~~~~~~
        fix: lr = 6e-4
3 errors
