-- RUN: check job.lua --no-data
return job {
  model = { "gpt2", layers = 12, width = 768, heads = 12 },
  data = "synthetic",
  train = { batch = "64 sequences", microbatch = 1, steps = 1000 },
  optimizer = { "adamw", lr = 6e-4 },
  schedule = { "cosine", warmup = 19 },
}
-- >>> exit 0
job.lua:6:35: lint[warmup-short]: a warm-up of 19 steps ends before the second
    moment, which remembers about 20 steps at beta2 = 0.95, has settled
    6 |   schedule = { "cosine", warmup = 19 },
      |                                   ^~
        fix: warmup = 20
job.lua: right
