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
below: ranks of a stage and replica (tp x cp = 2), and their nodes
nodes 0-1: 4 ranks each, on devices 0-3 and cores 0-3

       stage 0    stage 1    
dp 0   0-1 n0     2-3 n0
dp 1   4-5 n1     6-7 n1
