-- RUN: check job.lua
-- SETUP: mkdir shards
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { train = "shards" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[data]: shards is a folder; name its files
    3 |   data = { train = "shards" },
      |                    ^~~~~~~~
        fix: train = "shards/*"
