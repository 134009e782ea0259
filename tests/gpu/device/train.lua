-- A small GPT on one GPU: tests/gpu/run trains it there and on the processor, and compares losses.
return job {
  model = { "gpt2", layers = 2, width = 128, heads = 4, vocab = 256, positions = 128 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 4, steps = 20 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "fp32",
  cluster = { "dgx-h200", devices = 1 },
}
