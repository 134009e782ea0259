return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", context = 128, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:46: error[range]: context 128 is longer than the model's 64 positions
    4 |   train = { batch = "8 sequences", context = 128, steps = 10 },
      |                                              ^~~
        fix: context = 64
