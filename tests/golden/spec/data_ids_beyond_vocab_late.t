-- RUN: check job.lua
-- SETUP: { head -c 4000000 /dev/zero; printf '\0\1'; head -c 4000000 /dev/zero; } > a.u16
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { train = "a.u16", format = "u16" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[data]: a.u16: token 256 at 2,000,000, but vocab = 256
    3 |   data = { train = "a.u16", format = "u16" },
      |                    ^~~~~~~
    note: another model's tokens, or another data.format than the file's
