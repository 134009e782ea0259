while true do end
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:1:1: error[limit]: this does not end: 20 million instructions were run;
    a usual file needs hundreds
    1 | while true do end
      | ^
