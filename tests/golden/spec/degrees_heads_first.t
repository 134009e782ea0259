return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 4, vocab = 256, positions = 128 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  cluster = { "here", devices = 3 }, parallel = { tp = 3 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
error[degrees]: parallel.tp = 3 does not divide ffn = 128; nearest: 2 or 4
error[heads-multiple]: parallel.tp = 3 does not divide heads = 4; nearest: 2 or 4
error[degrees]: parallel.tp = 3 does not divide vocab = 256; nearest: 2 or 4
        fix: model.vocab_multiple = 3
3 errors
