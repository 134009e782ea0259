return job {
  model = { "gpt2", layers = 2, vocab = 256, width = 128, heads = 4, qkv = 2 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, context = 64, steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "fp32",
}
-- >>> exit 1
job.lua:2:76: error[wrong-size]: model.qkv = 2: qkv counts query, key and value:
    it is 3
    2 | b = 256, width = 128, heads = 4, qkv = 2 },
      |                                        ^
    SPECS/models/gpt2.lua:32:5: note: this is
    what 'gpt2' makes of it
