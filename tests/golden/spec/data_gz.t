-- RUN: check job.lua
-- SETUP: head -c 500 /dev/zero > a.u8.gz
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { train = "a.u8.gz", format = "u8" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[data]: a.u8.gz: is packed by gzip, not raw tokens: unpack it
    first (gzip -d, zstd -d, xz -d, unzip)
    3 |   data = { train = "a.u8.gz", format = "u8" },
      |                    ^~~~~~~~~
