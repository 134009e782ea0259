-- RUN: check job.lua
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "./c.lua", nodes = 2 },
  parallel = { tp = 2 },
}
-- FILE: c.lua
return { types = { { "dgx-h100" }, { "dgx-a100" } } }
-- >>> exit 1
job.lua:6:34: error[conflict]: cluster.nodes: ./c.lua has types of nodes, and
    each says its own
    6 |   cluster = { "./c.lua", nodes = 2 },
      |                                  ^
        fix: remove it, and say it in ./c.lua
