-- RUN: explain job.lua --map
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", nodes = 2, devices = 4 },
  parallel = { tp = 2, pp = 2, order = "tp cp pp dp" },
}
-- >>> exit 0
8 ranks = tp 2 x cp 1 x pp 2 x dp 2
axes fill nodes in this order: tp cp pp dp
order tp cp pp dp, as asked: 98.0 us of communication a step, 1.10 times the
    88.7 us of tp cp dp pp
nodes 0-1: 4 ranks each, on devices 0-3 and cores 0-3
below, a-b is on every node, and a..b goes a step further on each

nodes       ranks         tp           pp           dp
0-1         0-7           0-1          0-1          0..1

node 0, GPU   0   1   2   3
         tp   0   1   0   1
         pp   0   0   1   1
         dp   0   0   0   0

every rank by its stage, 0-9 a-z, from node to node
n0     0011 0011
job.lua:7:29: lint[few-layers]: 4 layers on 2 stages are fewer than four a
    stage: stages cannot be balanced, and each waits for its neighbours more
    than it computes
    7 |   parallel = { tp = 2, pp = 2, order = "tp cp pp dp" },
      |                             ^
        fix: pp = 1
job.lua:7:29: lint[bubble]: stages idle 20.0 % of a step: (pp-1) / (m + pp-1)
    with m = 4 micro-batches; the slowest stage waits 105 us of 1.30 ms
    7 |   parallel = { tp = 2, pp = 2, order = "tp cp pp dp" },
      |                             ^
        fix: batch = "18 sequences"
    note: m = 4: at most 20 %; m = 9: at most 10 %
