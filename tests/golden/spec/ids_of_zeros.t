-- RUN: check job.lua
-- SETUP: head -c 4000 /dev/zero > a.bin
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { train = "a.bin", format = "u8" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
job.lua:3:20: lint[token-ids]: a.bin: all 4,000 ids that were looked at are 0
    3 |   data = { train = "a.bin", format = "u8" },
      |                    ^~~~~~~
    note: a file that was allocated and never written holds zeros
job.lua: right
