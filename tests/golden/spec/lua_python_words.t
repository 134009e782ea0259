return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  memory = None,
}
-- >>> exit 1
job.lua:6:12: error[unknown-name]: nothing is named 'None' here;
    the word is nil, or "none" where a key takes it
    6 |   memory = None,
      |            ^~~~
        fix: nil
