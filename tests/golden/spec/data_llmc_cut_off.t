-- RUN: check job.lua
-- SETUP: { printf '\x88\xd8\x34\x01\x01\0\0\0\x10\x27\0\0'; head -c 2000 /dev/zero; } > a.bin
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { train = "a.bin" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[data]: a.bin: header promises 10000 tokens of 2 bytes, but
    988 bytes follow it
    3 |   data = { train = "a.bin" },
      |                    ^~~~~~~
