return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = "10" + 5 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:45: error[lua-error]: attempt to perform arithmetic on a string value
    (constant '10')
    4 |   train = { batch = "8 sequences", steps = "10" + 5 },
      |                                             ^~
