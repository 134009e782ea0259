return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  name = "a\0b",
}
-- >>> exit 1
job.lua:6:10: error[wrong-type]: name: expected a text; got a text with a zero
    byte
    6 |   name = "a\0b",
      |          ^~~~~~
