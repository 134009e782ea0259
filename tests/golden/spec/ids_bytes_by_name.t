-- RUN: check job.lua
-- SETUP: perl -e 'print pack("C*", map { $_ * 7919 % 251 } 1..400)' > a.u8
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { train = "a.u8", format = "u16" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[data]: a.u8: token 6538 at 0, but vocab = 256
    3 |   data = { train = "a.u8", format = "u16" },
      |                    ^~~~~~
        fix: format = "u8"
