return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = { "synthetic", shuffle = yes },
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:40: error[unknown-name]: nothing is named 'yes' here;
    the word is true
    3 |   data      = { "synthetic", shuffle = yes },
      |                                        ^~~
        fix: true
