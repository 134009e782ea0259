return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = { train = $DATA },
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:25: error[syntax]: $ reads nothing: a plan must not depend on who
    compiles it; write the value
    3 |   data      = { train = $DATA },
      |                         ^
