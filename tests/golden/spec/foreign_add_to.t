local n = 3
n += 1
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:2:3: error[syntax]: Lua has no such sign; write the sum out
    2 | n += 1
      |   ^~
        fix: n = n + 1
