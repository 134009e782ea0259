return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 4, vocab = 256, positions = 128 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  cluster = { "here", devices = 3 }, parallel = { tp = 3 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:5:56: error[degrees]: parallel.tp = 3 does not divide ffn = 128;
    nearest: 2 or 4
    5 |   cluster = { "here", devices = 3 }, parallel = { tp = 3 },
      |                                                        ^
    job.lua:2:45: note: ffn = 128 follows from this
job.lua:5:56: error[heads-multiple]: parallel.tp = 3 does not divide heads = 4;
    nearest: 2 or 4
    5 |   cluster = { "here", devices = 3 }, parallel = { tp = 3 },
      |                                                        ^
    job.lua:2:57: note: heads = 4 follows from this
job.lua:5:56: error[degrees]: parallel.tp = 3 does not divide vocab = 256;
    nearest: 2 or 4
    5 |   cluster = { "here", devices = 3 }, parallel = { tp = 3 },
      |                                                        ^
        fix: model.vocab_multiple = 3
    job.lua:2:68: note: vocab = 256 follows from this
3 errors
