-- RUN: check job.lua
-- SETUP: { printf '\050\265\057\375'; head -c 500 /dev/zero; } > a.zst
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { train = "a.zst" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[format]: a.zst is packed by zstd, not tokens: unpack it
    first (gzip -d, zstd -d, xz -d, unzip)
    3 |   data = { train = "a.zst" },
      |                    ^~~~~~~
