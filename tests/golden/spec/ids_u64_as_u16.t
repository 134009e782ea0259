-- RUN: check job.lua
-- SETUP: perl -e 'print pack("Q<*", map { $_ * 7919 %50000 } 1..400)' > a.bin
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 50257, positions = 64 },
  data = { train = "a.bin", format = "u16" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
job.lua:3:20: lint[token-ids]: a.bin: three ids of four are 0, as in a file of
    wider ids that is read as u16
    3 |   data = { train = "a.bin", format = "u16" },
      |                    ^~~~~~~
    note: they fit as little-endian numbers of 8 bytes: numpy.fromfile(FILE,
    "<u8").astype("<u4").tofile("train.u32") rewrites them for format = "u32"
job.lua: right
