-- RUN: explain job.lua parallel.zero_reshard
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 64, positions = 16 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel  = { zero_reshard = "step" },
  precision = "bf16",
}
-- >>> exit 1
job.lua:6:32: error[conflict]: parallel.zero_reshard is for zero 3, and for
    parameters that are cast for kernels; zero is 0
    6 |   parallel  = { zero_reshard = "step" },
      |                                ^~~~~~
        fix: remove zero_reshard
