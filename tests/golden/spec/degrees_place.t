return job {
  model = { "llama", layers = 2, vocab = 256, ffn = 64, width = 130, heads = 5 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, context = 66, steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel = { tp = 3 }, cluster = { "here", devices = 3 },
  precision = "fp32",
}
-- >>> exit 1
job.lua:6:21: error[degrees]: parallel.tp = 3 does not divide ffn = 64; nearest:
    2 or 4
    6 |   parallel = { tp = 3 }, cluster = { "here", devices = 3 },
      |                     ^
    job.lua:2:53: note: ffn = 64 follows from this
job.lua:6:21: error[heads-multiple]: parallel.tp = 3 does not divide heads = 5;
    nearest: 1 or 5
    6 |   parallel = { tp = 3 }, cluster = { "here", devices = 3 },
      |                     ^
    job.lua:2:78: note: heads = 5 follows from this
job.lua:6:21: error[heads-multiple]: parallel.tp = 3 does not divide kv_heads =
    5 (nor is it a multiple); nearest: 1 or 5
    6 |   parallel = { tp = 3 }, cluster = { "here", devices = 3 },
      |                     ^
    job.lua:2:78: note: kv_heads = 5 follows from this
job.lua:6:21: error[degrees]: parallel.tp = 3 does not divide vocab = 256;
    nearest: 2 or 4
    6 |   parallel = { tp = 3 }, cluster = { "here", devices = 3 },
      |                     ^
        fix: model.vocab_multiple = 3
    job.lua:2:42: note: vocab = 256 follows from this
4 errors
