-- RUN: check job.lua
-- SETUP: head -c 500 /dev/zero > a.u8; printf x > b.u8
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { train = "a.u8", valid = "b.u8", format = "u8" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:36: error[data]: data.valid has a single token, and none that it could
    predict
    3 |   data = { train = "a.u8", valid = "b.u8", format = "u8" },
      |                                    ^~~~~~
