return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, [true] = 1 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:11: error[wrong-type]: train has the key [boolean]; keys are words
    4 |   train = { batch = "8 sequences", steps = 10, [true] = 1 },
      |           ^
