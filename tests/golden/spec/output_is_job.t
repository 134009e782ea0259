-- RUN: compile job.lua -o ./job.lua
-- The plan would replace the job that it is made of.
return job {
  model     = { "llama", layers = 2, width = 64, heads = 2, ffn = 64, vocab = 128 },
  data      = "synthetic",
  train     = { batch = "8 sequences", context = 64, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
lockstep: -o ./job.lua is a file that is read: name another one
