local ok = pcall(error)
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:1:12: error[unknown-name]: nothing is named 'pcall' here;
    an error ends the file, so that its place is shown
    1 | local ok = pcall(error)
      |            ^~~~~
