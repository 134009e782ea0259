-- RUN: check job.lua
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", switches = "./topology.conf" },
}
-- FILE: topology.conf
SwitchName=s0 Nodes=n[1-4]
-- >>> exit 1
job.lua:6:34: error[conflict]: cluster.switches: all nodes of "here" are on this
    machine, and the network does not say how many they are: set cluster.nodes
    6 |   cluster = { "here", switches = "./topology.conf" },
      |                                  ^~~~~~~~~~~~~~~~~
        fix: nodes = 2
