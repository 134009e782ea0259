-- RUN: explain job.lua --map
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-a100", nodes = 4, switches = "all.conf" },
  parallel = { tp = 4 },
}
-- FILE: all.conf
SwitchName=leaf Nodes=ALL
-- >>> exit 0
32 ranks = tp 4 x cp 1 x pp 1 x dp 8
axes fill nodes in this order: tp cp pp dp
nodes 0-3: 8 ranks each, on devices 0-7 and cores 0-7
below, a-b is on every node, and a..b goes a step further on each

nodes       ranks         tp           dp
0-3         0-31          0-3          0-1..6-7

node 0, GPU   0   1   2   3   4   5   6   7
         tp   0   1   2   3   0   1   2   3
         dp   0   0   0   0   1   1   1   1

every rank by its replica, 0-9 a-z, from node to node
n0     00001111 22223333 44445555 66667777
