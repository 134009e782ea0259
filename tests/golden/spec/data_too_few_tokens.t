-- RUN: check job.lua
-- SETUP: head -c 64 /dev/zero > a.u8
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { train = "a.u8", format = "u8" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[data]: data.train has 64 tokens, fewer than one sequence of
    64 and its target
    3 |   data = { train = "a.u8", format = "u8" },
      |                    ^~~~~~
