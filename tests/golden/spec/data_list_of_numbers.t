return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { train = { 1, 2 } },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[wrong-type]: data.train: expected a text or a list of texts:
    { "a.bin", "b.bin" }; got a table
    3 |   data = { train = { 1, 2 } },
      |                    ^
