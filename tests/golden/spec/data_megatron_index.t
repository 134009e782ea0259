-- RUN: check job.lua
-- SETUP: { printf 'MMIDIDX\0\0'; head -c 500 /dev/zero; } > a.idx
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { train = "a.idx", format = "u16" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[data]: a.idx: is Megatron's index, not raw tokens: name the
    .bin beside it, and say format = "megatron"
    3 |   data = { train = "a.idx", format = "u16" },
      |                    ^~~~~~~
        fix: format = "megatron"
