-- RUN: check job.lua --no-data
return job {
  model = { "gpt2", layers = 16, width = 768, heads = 12, vocab = 1024 },
  data = "synthetic",
  train = { batch = "256 sequences", microbatch = 1, steps = 1000 },
  optimizer = { "adamw", lr = 6e-4 },
  parallel = { pp = 4, stages = { 5, 4, 4, 3 } },
  cluster = { "dgx-h100", nodes = 1, devices = 4 },
}
-- >>> exit 0
job.lua:6:21: lint[few-layers]: a stage has 3 of 16 layers, fewer than four: it
    computes less than it waits for its neighbours
    6 |   parallel = { pp = 4, stages = { 5, 4, 4, 3 } },
      |                     ^
        fix: remove stages
job.lua:6:21: lint[imbalance]: the heaviest stage has 26 % more work than the
    mean, 41.3 ms of 202 ms a step, and the others wait for it (`explain
    --schedule` says why)
    6 |   parallel = { pp = 4, stages = { 5, 4, 4, 3 } },
      |                     ^
        fix: remove stages
job.lua: right
