local x = require "x"
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:1:11: error[unknown-name]: nothing is named 'require' here;
    a job file starts from another one with job { "./base.lua", ... }
    1 | local x = require "x"
      |           ^~~~~~~
