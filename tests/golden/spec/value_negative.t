return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "-8 sequences", microbatch = -1, steps = -5, seed = -1 },
  optimizer = { "adamw", lr = -1, beta1 = 1, beta2 = 2, eps = 0 },
}
-- >>> exit 1
job.lua:4:21: error[unit]: train.batch: expected "512Ki tokens", "512 sequences"
    or "64 samples"; got "-8 sequences"
    4 |   train = { batch = "-8 sequences", microbatch = -1, steps = -5, seed = -1 },
      |                     ^~~~~~~~~~~~~~
job.lua:4:50: error[range]: train.microbatch is 1 to 16777216; got -1
    4 |   train = { batch = "-8 sequences", microbatch = -1, steps = -5, seed = -1 },
      |                                                  ^~
job.lua:4:62: error[range]: train.steps is above 0 to 1e+18; got -5
    4 | 8 sequences", microbatch = -1, steps = -5, seed = -1 },
      |                                        ^~
job.lua:4:73: error[range]: train.seed is 0 to 9007199254740992; got -1
    4 | ", microbatch = -1, steps = -5, seed = -1 },
      |                                        ^~
job.lua:5:31: error[range]: optimizer.lr is 0 to 1000000; got -1
    5 |   optimizer = { "adamw", lr = -1, beta1 = 1, beta2 = 2, eps = 0 },
      |                               ^~
job.lua:5:54: error[range]: optimizer.beta2 is 0 to 1; got 2
    5 |   optimizer = { "adamw", lr = -1, beta1 = 1, beta2 = 2, eps = 0 },
      |                                                      ^
job.lua:5:63: error[range]: optimizer.eps is 1e-37 to 1; got 0
    5 | , lr = -1, beta1 = 1, beta2 = 2, eps = 0 },
      |                                        ^
7 errors
