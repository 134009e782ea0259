-- RUN: check job.lua
-- SETUP: { printf '\050\0\0\0\0\0\0\0{"ids":{}}'; head -c 500 /dev/zero; } > a.bin
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { train = "a.bin", format = "u16" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[data]: a.bin: is a safetensors file, not raw tokens: write
    the ids out raw, ids.numpy().astype("uint16").tofile("train.u16"), and say
    format = "u16"
    3 |   data = { train = "a.bin", format = "u16" },
      |                    ^~~~~~~
