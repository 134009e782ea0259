-- RUN: explain job.lua --map
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-a100", switches = "tree.conf", drained = "n[2,4]" },
  parallel = { tp = 4, pp = 2 },
}
-- FILE: tree.conf
SwitchName=leaf1 Nodes=n[1-3]
SwitchName=leaf2 Nodes=n[4-6]
SwitchName=top Switches=leaf[1-2]
-- >>> exit 0
32 ranks = tp 4 x cp 1 x pp 2 x dp 4
axes fill nodes in this order: tp cp pp dp
nodes 0-3: 8 ranks each, on devices 0-7 and cores 0-7
below, a-b is on every node, and a..b goes a step further on each

nodes       ranks         tp           pp           dp
0-3         0-31          0-3          0-1          0..3

node 0, GPU   0   1   2   3   4   5   6   7
         tp   0   1   2   3   0   1   2   3
         pp   0   0   0   0   1   1   1   1
         dp   0   0   0   0   0   0   0   0

every rank by its stage, 0-9 a-z, from node to node
n0     00001111 00001111 00001111 00001111
job.lua:7:29: lint[few-layers]: 4 layers on 2 stages are fewer than four a
    stage: stages cannot be balanced, and each waits for its neighbours more
    than it computes
    7 |   parallel = { tp = 4, pp = 2 },
      |                             ^
        fix: pp = 1
