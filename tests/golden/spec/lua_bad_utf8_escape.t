return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  name = "a\xffb",
}
-- >>> exit 1
job.lua:6:10: error[wrong-type]: name: expected a text; got a text that is not
    UTF-8
    6 |   name = "a\xffb",
      |          ^~~~~~~~
