return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", device = "h100" },
}
-- >>> exit 1
job.lua:6:32: error[unknown-preset]: no device is named 'h100'; did you mean
    'h100-nvl'?
    6 |   cluster = { "here", device = "h100" },
      |                                ^~~~~~
        fix: "h100-nvl"
