-- RUN: check job.lua
-- SETUP: { printf 'my header, 24 bytes long'; perl -e 'print pack("v*", map { $_ * 7919 % 5000 } 1..400)'; } > a.bin
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 5000, positions = 64 },
  data = { train = "a.bin", format = "u16" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[data]: a.bin: token 31085 at 0, but vocab = 5,000
    3 |   data = { train = "a.bin", format = "u16" },
      |                    ^~~~~~~
    note: the ids after the first 24 bytes are below it: a raw file has no
    header
