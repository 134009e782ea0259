import math
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:1:1: error[syntax]: a job file imports nothing: all that it may use is
    there; delete this line
    1 | import math
      | ^~~~~~
