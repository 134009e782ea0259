return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adam", lr = 1e-3 },
  schedule = "cosin",
  precision = "fp16",
  memory = { recompute = "blocks" },
}
-- >>> exit 1
job.lua:5:17: error[unknown-word]: optimizer: "adam" is not one of: adamw sgd
    lion
    5 |   optimizer = { "adam", lr = 1e-3 },
      |                 ^~~~~~
        fix: optimizer = "adamw"
job.lua:6:14: error[unknown-word]: schedule: "cosin" is not one of: constant
    linear cosine wsd polynomial inverse_sqrt
    6 |   schedule = "cosin",
      |              ^~~~~~~
        fix: schedule = "cosine"
job.lua:7:15: error[not-built]: precision "fp16" is not built yet; there are:
    fp32 bf16
    7 |   precision = "fp16",
      |               ^~~~~~
        fix: precision = "bf16"
    note: bf16 is as narrow, and has the range of fp32
job.lua:8:26: error[unknown-word]: memory.recompute: "blocks" is not one of:
    none selective block sqrt auto every
    8 |   memory = { recompute = "blocks" },
      |                          ^~~~~~~~
        fix: recompute = "block"
4 errors
