return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  checkpoint = { every = "0s" },
}
-- >>> exit 1
job.lua:6:26: error[range]: checkpoint.every is 1 to 1000000000000; got "0s"
    6 |   checkpoint = { every = "0s" },
      |                          ^~~~
        fix: every = "never"
