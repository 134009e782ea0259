return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  log = function() end,
}
-- >>> exit 1
job.lua:6:9: error[wrong-type]: log is a table of keys: log = { ... }; got a
    function
    6 |   log = function() end,
      |         ^~~~~~~~~~~~~~
