return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { valid = "a.u8" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:3: error[missing-key]: data.train is missing: training shards;
    required unless synthetic; { "a.tok", weight = 5 } in the list: each entry
    is a source, whose samples have this share; weight 1 without one
    3 |   data = { valid = "a.u8" },
      |   ^~~~
        fix: data = { train = "data/train_*.bin" }
