-- RUN: compile job.lua
return job {
  model = { "gpt2", layers = 4, width = 128, heads = 4, vocab = 256, positions = 128 },
  data = "synthetic",
  train = { batch = "4 sequences", microbatch = 4, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1 },
  offload = { "cpu", budget = "13885439B" },
  memory = { recompute = "none" },
}
-- >>> exit 1
job.lua:8:31: error[does-not-fit]: host memory: the rank of a node needs
    13,885,440 B, offload.budget is 13,885,439 B
    8 |   offload = { "cpu", budget = "13885439B" },
      |                               ^~~~~~~~~~~
        fix: budget = "13885440B"
    note: more nodes that share the model, or nodes with more memory:
    cluster.host
