return job {
  model = { "llama", layers = 2, vocab = 256, ffn = 64, width = 0, heads = 4 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, context = 64, steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "fp32",
}
-- >>> exit 1
job.lua:2:65: error[wrong-size]: model.width = 0: weight: a dimension has a
    whole size of 1 or more; width = 0
    2 | rs = 2, vocab = 256, ffn = 64, width = 0, heads = 4 },
      |                                        ^
    SPECS/models/llama.lua:49:19: note: this
    is what 'llama' makes of it
