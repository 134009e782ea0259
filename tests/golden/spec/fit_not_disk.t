-- RUN: compile job.lua
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1, memory = "48GB", host = "24GB", disk = "60GB" },
  slurm = { scratch = "/scratch" },
}
-- >>> exit 1
job.lua:7:49: error[does-not-fit]: a rank needs 123 GB, its budget is 47.4 GB
    (`lockstep explain` shows the table)
    7 |   cluster = { "dgx-h100", devices = 1, memory = "48GB", host = "24GB", disk = "60GB" },
      |                                                 ^~~~~~
        fix: -D precision.moments=int8 -D offload.optimizer=nvme
    note: with precision.moments = "int8"     it needs 83.7 GB
    note: with offload.optimizer = "nvme"     it needs 42.3 GB: fits, a step
    1.61 times as long: 4.77 s
    note: host memory is for large models on few devices, such as 70B on one
    node: with more nodes parallel.zero divides states, and nothing is copied
    note: or with cluster.nodes = 8, parallel.zero = 3 it needs 32.3 GB: fits, a
    step of 1.06 s
