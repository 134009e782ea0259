-- RUN: explain job.lua --why place
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "frontier-like", nodes = 2 },
  parallel = { tp = 2, pp = 2 },
}
-- >>> exit 0
why there: of 6 orders in which axes fill nodes, by the communication of a step,
    one after another, on the stage that has most
  tp cp dp pp         4.21 us     +0.0%   <- taken
  cp dp tp pp         4.21 us     +0.0%
  tp cp pp dp         10.5 us   +148.8%
  cp pp tp dp         10.5 us   +148.8%
  cp pp dp tp         7.20 us    +71.0%   tp leaves its fast links
  cp dp pp tp         7.20 us    +71.0%   tp leaves its fast links
tp cp pp dp on seats in the order of their devices: 15.8 us, 3.74 times as long
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
