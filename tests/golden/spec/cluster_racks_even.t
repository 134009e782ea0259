-- RUN: explain job.lua --no-data --map
-- The same without the trays that the error names.
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 8, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = "./c.lua",
  parallel = { tp = 8 },
}
-- FILE: c.lua
return { "gb200-nvl72", block = 4, switches = "./racks.conf", drained = "a3,c3" }
-- FILE: racks.conf
BlockName=r1 Nodes=a[1-3]
BlockName=r2 Nodes=b[1-4]
BlockName=r3 Nodes=c[1-3]
-- >>> exit 0
32 ranks = tp 8 x cp 1 x pp 1 x dp 4
axes fill nodes in this order: tp cp pp dp
nodes 0-7: 4 ranks each, on devices 0-3 and cores 0-3
below, a-b is on every node, and a..b goes a step further on each

nodes       ranks         tp           dp
0-1         0-7           0-3..4-7     0
2-3         8-15          0-3..4-7     1
4-5         16-23         0-3..4-7     2
6-7         24-31         0-3..4-7     3

node 0, GPU   0   1   2   3
         tp   0   1   2   3
         dp   0   0   0   0

every rank by its replica, 0-9 a-z, from node to node
n0     0000 0000 1111 1111 2222 2222 3333 3333
