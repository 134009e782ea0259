-- RUN: check job.lua
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-a100", switches = "flat.yaml" },
  parallel = { tp = 4 },
}
-- FILE: flat.yaml
- topology: plain
  flat: true
-- >>> exit 1
job.lua:6:38: error[topology-hosts]: flat.yaml names no nodes, and the cluster
    does not say how many there are
    6 |   cluster = { "dgx-a100", switches = "flat.yaml" },
      |                                      ^~~~~~~~~~~
        fix: nodes = 16
