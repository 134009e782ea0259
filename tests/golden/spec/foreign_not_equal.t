local n = 3
if n != 3 then n = 4 end
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:2:6: error[syntax]: not equal is written ~=
    2 | if n != 3 then n = 4 end
      |      ^~
        fix: ~=
