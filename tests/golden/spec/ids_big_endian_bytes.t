-- RUN: check job.lua
-- SETUP: perl -e 'print pack("n*", map { $_ * 7919 % 256 } 1..400)' > a.bin
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 65536, positions = 64 },
  data = { train = "a.bin", format = "u16" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
job.lua:3:20: lint[token-ids]: a.bin: all ids are multiples of 256, as in a
    file with the other byte order
    3 |   data = { train = "a.bin", format = "u16" },
      |                    ^~~~~~~
    note: they fit as big-endian numbers of 2 bytes: numpy.fromfile(FILE,
    ">u2").astype("<u4").tofile("train.u32") rewrites them for format = "u32"
job.lua: right
