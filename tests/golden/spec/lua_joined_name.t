return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = { train = "tok/" .. split, format = "u8" },
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:35: error[unknown-name]: nothing is named 'split' here;
    no local variable above has this name; text is written in quotes
    3 |   data      = { train = "tok/" .. split, format = "u8" },
      |                                   ^~~~~
        fix: "split"
