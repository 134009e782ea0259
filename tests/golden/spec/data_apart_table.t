return job {
  model = { "gpt2", layers = 4, width = 32, heads = 2, vocab = 256, positions = 32 },
  data = { "synthetic", documents = "apart" },
  train = { batch = "4 sequences", steps = 4 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:37: error[conflict]: data.documents is about files of tokens
    3 |   data = { "synthetic", documents = "apart" },
      |                                     ^~~~~~~
