-- RUN: check job.lua
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-a100", switches = "tree.conf", drained = "n7" },
  parallel = { tp = 4 },
}
-- FILE: tree.conf
SwitchName=leaf1 Nodes=n[1-3]
SwitchName=leaf2 Nodes=n[4-6]
SwitchName=top Switches=leaf[1-2]
-- >>> exit 1
job.lua:6:61: error[topology-hosts]: n7, which is drained, is no host of
    tree.conf
    6 | 00", switches = "tree.conf", drained = "n7" },
      |                                        ^~~~
        fix: remove n7; tree.conf has n1 to n6
