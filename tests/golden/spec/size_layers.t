return job {
  model = { "llama", layers = 0, vocab = 256, ffn = 64, width = 128, heads = 4 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, context = 64, steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "fp32",
}
-- >>> exit 1
job.lua:2:31: error[wrong-size]: model.layers = 0: stack: argument 2 is how many
    layers, 1 to 1,000,000; got the number 0
    2 |   model = { "llama", layers = 0, vocab = 256, ffn = 64, width = 128, heads = 4 },
      |                               ^
    SPECS/models/llama.lua:50:15: note: this
    is what 'llama' makes of it
