return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10, context = NULL },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:78: error[unknown-name]: nothing is named 'NULL' here;
    the word is nil, or "none" where a key takes it
    4 |  microbatch = 2, steps = 10, context = NULL },
      |                                        ^~~~
        fix: nil
