error("bad \27[31m red\nline2 \255\254")
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:1:1: error[lua-error]: bad \x1b[31m red\nline2 \xff\xfe
    1 | error("bad \27[31m red\nline2 \255\254")
      | ^~~~~
