-- RUN: compile job.lua
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  checkpoint = { every = "100 steps", async = "on" },
  cluster = { "dgx-h100", devices = 1, memory = "110GB", host = "60GB" },
}
-- >>> exit 1
job.lua:8:49: error[does-not-fit]: a rank needs 123 GB, its budget is 109 GB
    (`lockstep explain` shows the table)
    8 |   cluster = { "dgx-h100", devices = 1, memory = "110GB", host = "60GB" },
      |                                                 ^~~~~~~
        fix: -D precision.moments=bf16
    note: with precision.moments = "bf16"     it needs 109 GB: fits, a step of
    2.41 s
    note: or with cluster.nodes = 2 it needs 95.7 GB: fits, a step of 1.41 s
