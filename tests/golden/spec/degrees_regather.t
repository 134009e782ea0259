return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { tp = 2, sequence = false, regather = true },
}
-- >>> exit 1
job.lua:7:53: error[conflict]: parallel.regather is for sequence; sequence is
    false
    7 |   parallel = { tp = 2, sequence = false, regather = true },
      |                                                     ^~~~
        fix: remove regather
