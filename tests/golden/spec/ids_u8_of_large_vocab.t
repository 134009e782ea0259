-- RUN: check job.lua
-- SETUP: perl -e 'print pack("C*", map { $_ * 7919 % 251 } 1..400)' > a.bin
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 50257, positions = 64 },
  data = { train = "a.bin", format = "u8" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
job.lua:3:20: lint[token-ids]: a.bin: ids of 8 bits end at 255, but vocab =
    50,257
    3 |   data = { train = "a.bin", format = "u8" },
      |                    ^~~~~~~
    note: bytes as tokens have vocab = 256; the other rows never train
job.lua: right
