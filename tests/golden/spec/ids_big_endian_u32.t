-- RUN: check job.lua
-- SETUP: perl -e 'print pack("N*", map { $_ * 7919 %50000 } 1..400)' > a.bin
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 50257, positions = 64 },
  data = { train = "a.bin", format = "u32" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[data]: a.bin: token 4011720704 at 0, but vocab = 50,257
    3 |   data = { train = "a.bin", format = "u32" },
      |                    ^~~~~~~
    note: they fit as big-endian numbers of 4 bytes: numpy.fromfile(FILE,
    ">u4").astype("<u4").tofile("train.u32") rewrites them for format = "u32"
