-- RUN: explain job.lua --map
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 64, positions = 16 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster   = { "here", devices = 4, cores = 2 },
}
-- >>> exit 0
4 ranks = tp 1 x cp 1 x pp 1 x dp 4
axes fill nodes in this order: tp cp pp dp
node 0: 4 ranks, on 2 shared cores
below, a-b is on every node, and a..b goes a step further on each

nodes       ranks         dp
0           0-3           0-3

node 0        0   1   2   3
         dp   0   1   2   3

every rank by its replica, 0-9 a-z, from node to node
n0     0123
