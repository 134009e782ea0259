return job {
  model = { "llama", layers = 2, vocab = 256, ffn = 64, width = 128, heads = 0 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, context = 64, steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "fp32",
}
-- >>> exit 1
job.lua:2:78: error[wrong-size]: model.heads = 0: expected a whole number of 1
    or more
    2 |  = 256, ffn = 64, width = 128, heads = 0 },
      |                                        ^
    SPECS/models/llama.lua:39:7: note: this is
    what 'llama' makes of it
