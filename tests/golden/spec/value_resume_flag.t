return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  checkpoint = { resume = true },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:5:27: error[wrong-type]: checkpoint.resume: expected a text; got true
    5 |   checkpoint = { resume = true },
      |                           ^~~~
        fix: resume = "auto"
