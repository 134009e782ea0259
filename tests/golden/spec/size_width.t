return job {
  model = { "llama", layers = 2, vocab = 256, ffn = 64, width = 130, heads = 4 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, context = 64, steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "fp32",
}
-- >>> exit 1
job.lua:2:65: error[wrong-size]: model.width = 130, model.heads = 4: heads must
    divide width, unless head is given
    2 | rs = 2, vocab = 256, ffn = 64, width = 130, heads = 4 },
      |                                        ^~~
    SPECS/models/llama.lua:39:7: note: this is
    what 'llama' makes of it
