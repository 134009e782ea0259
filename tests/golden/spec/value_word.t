return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adam", lr = 1e-3 },
  schedule = "cosin",
  precision = "fp4",
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
job.lua:7:15: error[unknown-word]: precision: "fp4" is not one of: fp32 bf16
    fp16
    7 |   precision = "fp4",
      |               ^~~~~
        fix: precision = "bf16"
    note: training computes in floating point; moments may be codes: { "bf16",
    moments = "int8" }
job.lua:8:26: error[unknown-word]: memory.recompute: "blocks" is not one of:
    none selective block sqrt auto every
    8 |   memory = { recompute = "blocks" },
      |                          ^~~~~~~~
        fix: recompute = "block"
4 errors
