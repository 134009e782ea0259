-- RUN: check job.lua --no-data --strict
return job {
  model = { "gpt2", layers = 12, width = 768, heads = 12 },
  data = "synthetic",
  train = { batch = "64 sequences", microbatch = 16, steps = 100000 },
  optimizer = { "adamw", lr = 6e-4, beta2 = 0.98 },
  schedule = { "cosine", warmup = 100 },
}
-- >>> exit 0
job.lua: right
