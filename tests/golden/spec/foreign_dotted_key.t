return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10, model.layers = 3 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:68: error[syntax]: a key is one word; a section holds its keys in
    braces
    4 | equences", microbatch = 2, steps = 10, model.layers = 3 },
      |                                        ^~~~~~~~~~~~
        fix: model = { layers = 3 }
