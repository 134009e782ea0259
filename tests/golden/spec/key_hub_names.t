return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = { train = "x.bin", val = "y.bin" },
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:34: error[unknown-key]: data.val: no such key; that is data.valid here
    3 |   data      = { train = "x.bin", val = "y.bin" },
      |                                  ^~~
        fix: data = { valid = "y.bin" }
