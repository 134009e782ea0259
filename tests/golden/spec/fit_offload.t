-- RUN: compile job.lua
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1, memory = "48GB" },
}
-- >>> exit 1
job.lua:7:49: error[does-not-fit]: a rank needs 123 GB, its budget is 47.4 GB
    (`lockstep explain` shows the table)
    7 |   cluster = { "dgx-h100", devices = 1, memory = "48GB" },
      |                                                 ^~~~~~
        fix: -D offload.optimizer=cpu
    note: with offload.optimizer = "cpu"      it needs 42.3 GB: fits, a step
    1.06 times as long: 3.17 s
    note: host memory is for large models on few devices, such as 70B on one
    node: with more nodes parallel.zero divides states, and nothing is copied
