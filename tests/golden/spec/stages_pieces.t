-- RUN: compile job.lua -D parallel.pp=8
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 64, positions = 16 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster   = { "here", devices = 8 },
}
-- >>> exit 1
-D parallel.pp=8: error[stages]: a model of 4 pieces (its layers and ends)
    cannot be cut into 8 stages
        fix: -D parallel.pp=4
