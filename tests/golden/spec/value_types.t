return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = true, microbatch = "two", steps = {}, seed = 1.5 },
  optimizer = { "adamw", lr = "fast", clip = false },
  log = { every = "10 steps", dir = 5 },
}
-- >>> exit 1
job.lua:4:21: error[wrong-type]: train.batch: expected "512Ki tokens", "512
    sequences" or "64 samples"; got true
    4 |   train = { batch = true, microbatch = "two", steps = {}, seed = 1.5 },
      |                     ^~~~
job.lua:4:40: error[wrong-type]: train.microbatch: expected a whole number such
    as 8, 2^19 or "16Mi"; got "two"
    4 |   train = { batch = true, microbatch = "two", steps = {}, seed = 1.5 },
      |                                        ^~~~~
job.lua:4:55: error[wrong-type]: train.steps: expected 1000, "10Gi tokens" or "3
    epochs"; got an empty table
    4 |   train = { batch = true, microbatch = "two", steps = {}, seed = 1.5 },
      |                                                       ^
job.lua:4:66: error[wrong-type]: train.seed: expected a whole number such as 8,
    2^19 or "16Mi"; got 1.5
    4 | microbatch = "two", steps = {}, seed = 1.5 },
      |                                        ^~~
job.lua:5:31: error[wrong-type]: optimizer.lr: expected a number such as 6e-4;
    got "fast"
    5 |   optimizer = { "adamw", lr = "fast", clip = false },
      |                               ^~~~~~
job.lua:5:46: error[wrong-type]: optimizer.clip: expected a number such as 6e-4;
    got false
    5 |   optimizer = { "adamw", lr = "fast", clip = false },
      |                                              ^~~~~
job.lua:6:19: error[unit]: log.every is a bare number of steps; got "10 steps"
    6 |   log = { every = "10 steps", dir = 5 },
      |                   ^~~~~~~~~~
        fix: every = 10
job.lua:6:37: error[wrong-type]: log.dir: expected a path; got 5
    6 |   log = { every = "10 steps", dir = 5 },
      |                                     ^
8 errors
