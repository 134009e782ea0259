return job {
  model = { "llama3-70b", layers = 56 },
  data = "synthetic",
  train = { batch = "256 sequences", context = 4096, microbatch = 1, steps = 1000 },
  optimizer = { "adamw", lr = 3e-4 },
  parallel = { tp = 4, zero = 1 },
  cluster = { "dgx-h100", nodes = 8 },
}
-- >>> exit 1
job.lua:2:13: error[does-not-fit]: a rank needs 86.0 GB, its budget is 81.2 GB
    (`lockstep explain` shows the table)
    2 |   model = { "llama3-70b", layers = 56 },
      |             ^~~~~~~~~~~~
        fix: -D parallel.pp=2
    note: with parallel.zero = 2              it needs 58.2 GB: fits, a step of
    12.0 s
    note: or with parallel.pp = 2 it needs 65.3 GB: fits, a step of 9.69 s
