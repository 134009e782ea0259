-- RUN: compile job.lua
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1 },
  offload = { "cpu", budget = "60GB" },
}
-- >>> exit 1
job.lua:8:31: error[does-not-fit]: host memory: the rank of a node needs 84.5
    GB, offload.budget is 60.0 GB
    8 |   offload = { "cpu", budget = "60GB" },
      |                               ^~~~~~
        fix: budget = "84504412928B"
    note: more nodes that share the model, or nodes with more memory:
    cluster.host
