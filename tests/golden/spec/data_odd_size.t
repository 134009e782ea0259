-- RUN: check job.lua
-- SETUP: head -c 501 /dev/zero > a.u16
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { train = "a.u16", format = "u16" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[data]: a.u16: 501 bytes are not a whole number of u16 tokens
    3 |   data = { train = "a.u16", format = "u16" },
      |                    ^~~~~~~
