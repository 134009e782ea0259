-- RUN: check job.lua --no-data --strict
return job {
  model = { "gpt2", layers = 12, width = 768, heads = 12 },
  data = "synthetic",
  train = { batch = "64 sequences", microbatch = 1, steps = 1000 },
  optimizer = { "adamw", lr = 6e-4 },
  schedule = { "cosine", warmup = 20 },
  parallel = { pp = 4 },
  cluster = { "dgx-h100", nodes = 1, devices = 4 },
}
-- >>> exit 1
job.lua:7:21: lint[few-layers]: 12 layers on 4 stages are fewer than four a
    stage: stages cannot be balanced, and each waits for its neighbours more
    than it computes
    7 |   parallel = { pp = 4 },
      |                     ^
        fix: pp = 2
lockstep: --strict: 1 lint
