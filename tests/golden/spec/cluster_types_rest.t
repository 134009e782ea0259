-- RUN: compile job.lua --no-data
-- Hosts that no type names.
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "32 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = "./c.lua",
}
-- FILE: c.lua
return { switches = "./tree.conf", types = { { "dgx-h100", hosts = "n[1-2]" } } }
-- FILE: tree.conf
SwitchName=leaf1 Nodes=n[1-2]
SwitchName=leaf2 Nodes=n[3-4]
SwitchName=top Switches=leaf[1-2]
-- >>> exit 1
c.lua:1:68: error[topology-hosts]: no type of nodes has n3 and 1 more
    1 | conf", types = { { "dgx-h100", hosts = "n[1-2]" } } }
      |                                        ^~~~~~~~
        fix: one type more: { "dgx-h100", nodes = 2 }, or drained = "n3"
