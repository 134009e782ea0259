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
below: ranks of a stage and replica (tp x cp = 4), and their nodes
nodes 0-3: 8 ranks each, on devices 0-7 and cores 0-7

       stage 0    stage 1    
dp 0   0-3 n0     4-7 n0
dp 1   8-11 n1    12-15 n1
dp 2   16-19 n2   20-23 n2
dp 3   24-27 n3   28-31 n3
