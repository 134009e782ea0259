local base
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = base.train,
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:5:11: error[lua-error]: attempt to index a nil value (local 'base')
    5 |   train = base.train,
      |           ^~~~
