return job {
  model = "llama3-8b",
  data = "synthetic",
  train = { batch = "1 sequences", context = 1024, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "cpu-node", memory = "4GiB" },
}
-- >>> exit 1
job.lua:6:36: error[does-not-fit]: a rank needs 145 GB, its budget is 3.76 GB
    (`lockstep explain` shows the table)
    6 |   cluster = { "cpu-node", memory = "4GiB" },
      |                                    ^~~~~~
    note: with precision.master = "split"     it needs 129 GB
    note: with precision.grad = "bf16"        it needs 113 GB
    note: with precision.moments = "int8"     it needs 68.2 GB
    note: 64.5 GB a rank are missing even then: more ranks that share the model
    (cluster.nodes, with parallel.tp, pp or zero), a smaller model, or devices
    with more memory
