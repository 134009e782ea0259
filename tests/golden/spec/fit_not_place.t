return job {
  model = { "llama", layers = 2, vocab = 256, ffn = 64, width = 128, heads = 4 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, context = 64, steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  memory = { budget = "1MB" },
  precision = "fp32",
}
-- >>> exit 1
job.lua:6:23: error[does-not-fit]: a rank needs 5.28 MB, its budget is 1.00 MB
    (`lockstep explain` shows the table)
    6 |   memory = { budget = "1MB" },
      |                       ^~~~~
    note: with train.microbatch = 1           it needs 4.75 MB
    note: with precision.grad = "bf16"        it needs 4.26 MB
    note: with precision.moments = "int8"     it needs 2.99 MB
    note: 1.99 MB a rank are missing even then: more ranks that share the model
    (cluster.nodes, with parallel.tp, pp or zero), a smaller model, or devices
    with more memory
