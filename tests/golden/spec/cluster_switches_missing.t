-- RUN: check job.lua
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-a100", switches = "./topolgy.conf" },
  parallel = { tp = 4 },
}
-- FILE: topology.conf
SwitchName=leaf Nodes=n[1-4]
-- >>> exit 1
topolgy.conf: error[topology-file]: cannot be read: No such file or directory
        fix: topology.conf
    job.lua:6:38: note: named here
