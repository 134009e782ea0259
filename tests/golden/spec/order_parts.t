-- RUN: explain job.lua --map
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", nodes = 2, devices = 4 },
  parallel = { tp = 2, order = "dp*2 tp cp pp dp" },
}
-- >>> exit 0
8 ranks = tp 2 x cp 1 x pp 1 x dp 4
axes fill nodes in this order: dp*2 tp cp pp dp
order dp*2 tp cp pp dp, as asked: 139 us of communication a step; none needs
    less
nodes 0-1: 4 ranks each, on devices 0-3 and cores 0-3
below, a-b is on every node, and a..b goes a step further on each

nodes       ranks         tp           dp
0-1         0-7           0-1          0-1..2-3

node 0, GPU   0   1   2   3
         tp   0   0   1   1
         dp   0   1   0   1

every rank by its replica, 0-9 a-z, from node to node
n0     0101 2323
