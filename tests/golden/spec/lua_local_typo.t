local split = "train"
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = { train = "tok/" .. splti, format = "u8" },
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:35: error[unknown-name]: nothing is named 'splti' here;
    did you mean 'split'?
    4 |   data      = { train = "tok/" .. splti, format = "u8" },
      |                                   ^~~~~
        fix: split
