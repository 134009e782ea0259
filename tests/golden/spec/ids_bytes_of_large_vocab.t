-- RUN: check job.lua
-- SETUP: perl -e 'print pack("v*", map { $_ * 7919 % 256 } 1..2000)' > a.bin
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 50257, positions = 64 },
  data = { train = "a.bin", format = "u16" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
job.lua:3:20: lint[token-ids]: a.bin: all 2,000 ids that were looked at are
    below 256, but vocab = 50,257
    3 |   data = { train = "a.bin", format = "u16" },
      |                    ^~~~~~~
    note: bytes as tokens have vocab = 256; the other rows never train
job.lua: right
