return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = 5,
  optimizer = { "adamw", lr = 1e-3 },
  memory = true,
}
-- >>> exit 1
job.lua:4:11: error[wrong-type]: train is a table of keys: train = { ... }; got
    5
    4 |   train = 5,
      |           ^
job.lua:6:12: error[wrong-type]: memory is a table of keys: memory = { ... };
    got true
    6 |   memory = true,
      |            ^~~~
2 errors
