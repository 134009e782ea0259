-- RUN: compile job.lua
return job {
  model     = "llama3-405b",
  data      = "synthetic",
  train     = { batch = "1 sequences", context = 8192, steps = 10 },
  optimizer = { "adamw", lr = 8e-5 },
  cluster   = { "dgx-h100", devices = 1 },
}
-- >>> exit 1
job.lua:2:15: error[does-not-fit]: a rank needs 7.35 TB, its budget is 84.8 GB
    (`lockstep explain` shows the table)
    2 |   model     = "llama3-405b",
      |               ^~~~~~~~~~~~~
    note: with precision.master = "split"     it needs 6.53 TB
    note: with precision.grad = "bf16"        it needs 5.72 TB
    note: with precision.moments = "int8"     it needs 3.31 TB
    note: with offload.optimizer = "cpu"      it needs 1.66 TB, a step 1.41
    times as long: 55.7 s
    note: with offload.activations = "cpu"    it needs 1.63 TB, a step 1.65
    times as long: 65.2 s
    note: host memory is for large models on few devices, such as 70B on one
    node: with more nodes parallel.zero divides states, and nothing is copied
    note: 1.55 TB a rank are missing even then: more ranks that share the model
    (cluster.nodes, with parallel.tp, pp or zero), a smaller model, or devices
    with more memory
