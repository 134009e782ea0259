-- RUN: explain job.lua --why rank=x
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "frontier-like", nodes = 2 },
  parallel = { tp = 2, pp = 2 },
}
-- >>> exit 1
lockstep: --why wants place, or rank=0 to rank=15, not 'rank=x'
job.lua:7:29: lint[few-layers]: 4 layers on 2 stages are fewer than four a
    stage: stages cannot be balanced, and each waits for its neighbours more
    than it computes
    7 |   parallel = { tp = 2, pp = 2 },
      |                             ^
        fix: pp = 1
job.lua:7:29: lint[bubble]: stages idle 33.3 % of a step: (pp-1) / (m + pp-1)
    with m = 2 micro-batches; the slowest stage waits 210 us of 754 us
    7 |   parallel = { tp = 2, pp = 2 },
      |                             ^
        fix: batch = "36 sequences"
    note: m = 4: at most 20 %; m = 9: at most 10 %
