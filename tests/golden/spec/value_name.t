return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  name = "My Job!",
}
-- >>> exit 1
job.lua:6:10: error[name]: a name has a-z 0-9 . _ - and begins with a letter or
    digit; got "My Job!"
    6 |   name = "My Job!",
      |          ^~~~~~~~~
        fix: name = "my-job-"
