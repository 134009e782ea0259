return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = inf },
}
-- >>> exit 1
job.lua:5:31: error[unknown-name]: nothing is named 'inf' here;
    keys take finite numbers; leave the key out where there is no limit
    5 |   optimizer = { "adamw", lr = inf },
      |                               ^~~
