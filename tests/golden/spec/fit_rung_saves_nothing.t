return job {
  model = "llama3-8b",
  data = "synthetic",
  train = { batch = "1 sequences", context = 1024, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "fp32",
  cluster = { "cpu-node", memory = "134GiB" },
}
-- >>> exit 1
job.lua:7:36: error[does-not-fit]: a rank needs 130 GB, its budget is 126 GB
    (`lockstep explain` shows the table)
    7 |   cluster = { "cpu-node", memory = "134GiB" },
      |                                    ^~~~~~~~
        fix: -D precision.grad=bf16
    note: with precision.grad = "bf16"        it needs 120 GB: fits
