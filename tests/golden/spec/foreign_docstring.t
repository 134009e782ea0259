"""my job"""
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:1:1: error[syntax]: three quotes are Python's; a comment begins with --,
    a long text with [[
    1 | """my job"""
      | ^~~
        fix: -- my job
