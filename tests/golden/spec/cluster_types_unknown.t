-- RUN: compile job.lua --no-data
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "32 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = "./c.lua",
}
-- FILE: c.lua
return { switches = "./tree.conf", types = { { "dgx-h100", hosts = "n[1-5]" } } }
-- FILE: tree.conf
SwitchName=leaf1 Nodes=n[1-2]
SwitchName=leaf2 Nodes=n[3-4]
SwitchName=top Switches=leaf[1-2]
-- >>> exit 1
c.lua:1:68: error[topology-hosts]: n5, which a type has, is no host of tree.conf
    1 | conf", types = { { "dgx-h100", hosts = "n[1-5]" } } }
      |                                        ^~~~~~~~
        fix: remove n5; tree.conf has n1 to n4
