-- RUN: check job.lua
-- SETUP: perl -e 'print pack("V*", map { $_ * 7919 %50000 } 1..400)' > a.bin
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 50257, positions = 64 },
  data = { train = "a.bin", format = "u16" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
job.lua:3:20: lint[token-ids]: a.bin: every other id is 0, as in a file of
    wider ids that is read as u16
    3 |   data = { train = "a.bin", format = "u16" },
      |                    ^~~~~~~
        fix: format = "u32"
job.lua: right
