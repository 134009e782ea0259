return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "data/train.bin",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:15: error[unknown-word]: data: "data/train.bin" is not one of: tokens
    table synthetic
    3 |   data      = "data/train.bin",
      |               ^~~~~~~~~~~~~~~~
        fix: data = { train = "data/train.bin" }
