-- RUN: explain job.lua --map --rank 1
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "frontier-like", nodes = 2 },
  parallel = { tp = 2, pp = 2 },
}
-- >>> exit 1
lockstep: explain shows one screen at a time, not both of --rank and --map
