-- RUN: check job.lua
-- SETUP: yes abc | head -c 1000 > a.u8
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { train = "a.u8", format = "u8" },
  train = { batch = "2 sequences", steps = "3 epochs" },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
job.lua: right
