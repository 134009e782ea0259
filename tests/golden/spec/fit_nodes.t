return job {
  model = "llama3-8b",
  data = "synthetic",
  train = { batch = "512 sequences", context = 4096, microbatch = 1, steps = 1000 },
  optimizer = { "adamw", lr = 3e-4 },
  cluster = { "dgx-h100", nodes = 1, devices = 1, host = "16GB" },
}
-- >>> exit 1
job.lua:2:11: error[does-not-fit]: a rank needs 147 GB, its budget is 84.8 GB
    (`lockstep explain` shows the table)
    2 |   model = "llama3-8b",
      |           ^~~~~~~~~~~
        fix: -D precision.master=split -D precision.grad=bf16 -D precision.moments=bf16
    note: with precision.master = "split"     it needs 131 GB
    note: with precision.grad = "bf16"        it needs 115 GB
    note: with precision.moments = "bf16"     it needs 82.6 GB: fits, a step of
    205 s
    note: or with cluster.nodes = 4, parallel.zero = 3 it needs 58.1 GB: fits, a
    step of 133 s
