-- RUN: check job.lua
-- SETUP: perl -e 'print pack("V*", map { $_ * 7919 % 70000 } 1..400)' > a.bin
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 70000, positions = 64 },
  data = { train = "a.bin", format = "u16" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[data]: a.bin: its ids have 16 bits and end at 65,535, but
    vocab = 70,000
    3 |   data = { train = "a.bin", format = "u16" },
      |                    ^~~~~~~
        fix: format = "u32"
