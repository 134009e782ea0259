return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "512 tokens", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { pp = 4 },
}
-- >>> exit 0
job.lua:7:21: lint[bubble]: stages idle 42.9 % of a step: (pp-1) / (m + pp-1)
    with m = 4 micro-batches
    7 |   parallel = { pp = 4 },
      |                     ^
        fix: batch = "3456 tokens"
    note: m = 12: at most 20 %; m = 27: at most 10 %
job.lua:7:21: lint[imbalance]: the heaviest stage has 37 % more work than the
    mean, and the others wait for it (`explain --schedule` says why)
    7 |   parallel = { pp = 4 },
      |                     ^
job.lua: right
