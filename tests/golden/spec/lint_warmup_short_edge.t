-- RUN: check job.lua --no-data --strict
return job {
  model = { "gpt2", layers = 12, width = 768, heads = 12 },
  data = "synthetic",
  train = { batch = "64 sequences", microbatch = 1, steps = 1000 },
  optimizer = { "adamw", lr = 6e-4 },
  schedule = { "cosine", warmup = 20 },
}
-- >>> exit 0
job.lua: right
