local now = os.time()
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:1:13: error[unknown-name]: nothing is named 'os' here;
    a job file knows neither clock nor environment: same text, same plan
    1 | local now = os.time()
      |             ^~
